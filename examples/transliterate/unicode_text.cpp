// SPDX-License-Identifier: Apache-2.0
#include "unicode_text.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace transliterate {
namespace {

UChar32 next_code_point(const std::string& text, std::int32_t* at) {
  UChar32 c = 0;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), *at,
          static_cast<std::int32_t>(text.size()), c);
  if (c < 0) {
    throw std::runtime_error("is not valid UTF-8, at byte " + std::to_string(*at));
  }
  return c;
}

}  // namespace

std::vector<std::string> characters_of(const std::string& text) {
  std::vector<std::string> characters;
  for (std::int32_t at = 0; at < static_cast<std::int32_t>(text.size());) {
    const std::int32_t begin = at;
    next_code_point(text, &at);
    characters.push_back(
        text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(at - begin)));
  }
  return characters;
}

bool is_arabic_letter(const std::string& character) {
  std::int32_t at = 0;
  if (character.empty()) return false;
  const UChar32 c = next_code_point(character, &at);
  UErrorCode error = U_ZERO_ERROR;
  return at == static_cast<std::int32_t>(character.size()) && u_isalpha(c) != 0 &&
         uscript_getScript(c, &error) == USCRIPT_ARABIC;
}

std::string code_point_text(const std::string& character) {
  std::int32_t at = 0;
  std::array<char, 16> number = {};
  std::snprintf(number.data(), number.size(), "U+%04X",
                static_cast<unsigned>(next_code_point(character, &at)));
  return std::string(number.data()) + " (" + character + ")";
}

}  // namespace transliterate
