// The rules are those of the package that the model comes from; with others, it would see texts
// that it was not trained on.
//
// SPDX-License-Identifier: Apache-2.0
#include "name_parts.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "unicode_text.h"

namespace transliterate {
namespace {

bool is_dropped(UChar32 c) {
  constexpr std::u32string_view kOthers = U"\u0640\u061C\uFEFF'\u2018\u2019\u02BC`\u00B4";
  const bool vowel_sign = (c >= 0x0610 && c <= 0x061A) || (c >= 0x064B && c <= 0x065F) ||
                          c == 0x0670 || (c >= 0x06D6 && c <= 0x06ED);
  const bool invisible = c >= 0x200B && c <= 0x200F;
  return vowel_sign || invisible ||
         kOthers.find(static_cast<char32_t>(c)) != std::u32string_view::npos;
}

bool is_separator(UChar32 c) {
  constexpr std::u32string_view kPunctuation =
      U"\u060C\u061B\u061F,.;:!?\"()[]{}/"
      U"\\_-\u2010\u2011\u2012\u2013\u2014\u00AB\u00BB\u201C\u201D";
  return u_isUWhiteSpace(c) != 0 ||
         kPunctuation.find(static_cast<char32_t>(c)) != std::u32string_view::npos;
}

UChar32 as_arabic(UChar32 c) {
  switch (c) {
    case 0x06A9:  // keheh
      return 0x0643;
    case 0x06CC:  // Farsi yeh
      return 0x064A;
    case 0x06C1:  // heh goal
      return 0x0647;
    case 0x0671:  // alef wasla
      return 0x0627;
    default:
      return c;
  }
}

bool joins_next(const std::string& word) {
  constexpr std::array<std::string_view, 11> kParticles = {"عبد", "أبو", "أبي", "ابو", "ابي", "بن",
                                                           "ابن", "بنت", "آل",  "ذو",  "ذي"};
  return std::find(kParticles.begin(), kParticles.end(), word) != kParticles.end();
}

bool joins_previous(const std::string& word) { return word == "الله" || word == "الدين"; }

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    // "Servant of the …" written as one word, when something of at least two letters follows "the".
    const std::string_view servant = "عبد";
    if (word.starts_with("عبدال") && characters_of(word).size() >= 7) {
      words.emplace_back(servant);
      word.erase(0, servant.size());
    }
    words.push_back(word);
  }
  return words;
}

}  // namespace

std::string normalize(const std::string& name) {
  characters_of(name);  // ICU would replace what is not UTF-8
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const nfkc = icu::Normalizer2::getNFKCInstance(error);
  if (U_FAILURE(error)) throw std::runtime_error(std::string("ICU: ") + u_errorName(error));
  const icu::UnicodeString input = nfkc->normalize(icu::UnicodeString::fromUTF8(name), error);
  if (U_FAILURE(error)) throw std::runtime_error(std::string("ICU: ") + u_errorName(error));
  icu::UnicodeString output;
  for (std::int32_t i = 0; i < input.length(); i = input.moveIndex32(i, 1)) {
    const UChar32 c = input.char32At(i);
    if (is_dropped(c)) continue;
    if (!is_separator(c)) {
      output.append(as_arabic(c));
    } else if (!output.isEmpty() && !output.endsWith(u' ')) {
      output.append(u' ');
    }
  }
  output.trim();
  std::string text;
  output.toUTF8String(text);
  return text;
}

std::vector<std::string> split_parts(const std::string& normalized) {
  const std::vector<std::string> words = words_of(normalized);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string part = words[i];
    while (joins_next(words[i]) && i + 1 < words.size()) part += " " + words[++i];
    while (i + 1 < words.size() && joins_previous(words[i + 1])) part += " " + words[++i];
    parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> roles_of(std::size_t count) {
  std::vector<std::string> roles(count, count == 1 ? "unknown" : "given");
  if (count > 1) roles.back() = "surname";
  return roles;
}

}  // namespace transliterate
