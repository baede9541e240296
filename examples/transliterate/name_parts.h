// A name as it is written, and as the parts that the model was trained on.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transliterate {

// Without vowel signs, stretching and invisible characters, punctuation as spaces, letters of
// Persian keyboards as the Arabic ones. Throws std::runtime_error when the text is not UTF-8.
std::string normalize(const std::string& name);

// The parts of a normalized name, each transliterated on its own: words, with particles ("son of",
// "servant of the …") joined to what they belong to.
std::vector<std::string> split_parts(const std::string& normalized);

// What each of `count` parts is: given names, then a surname; "unknown" for a single part.
std::vector<std::string> roles_of(std::size_t count);

}  // namespace transliterate
