// UTF-8 text as Unicode characters.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transliterate {

// One string per code point. Throws std::runtime_error when the text is not UTF-8.
std::vector<std::string> characters_of(const std::string& text);

// A single code point that is a letter of the Arabic script.
bool is_arabic_letter(const std::string& character);

// "U+0041 (A)", for messages.
std::string code_point_text(const std::string& character);

}  // namespace transliterate
