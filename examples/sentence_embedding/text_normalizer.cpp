// SPDX-License-Identifier: Apache-2.0
#include "text_normalizer.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace sentence_embedding {
namespace {

// ICU counts in 32 bits, and taking a text apart can make it several times longer.
constexpr std::size_t kMaxBytes = std::size_t{1} << 26;

// General categories as of Unicode 8.0: the tables that the model's tokenizer was built with. Later
// characters have no category there, so that, say, a combining mark of Unicode 14 is a letter like
// any other.
std::uint32_t category_mask(UChar32 c) {
  UVersionInfo age;
  u_charAge(c, age);
  return age[0] >= 1 && age[0] <= 8 ? U_GET_GC_MASK(c) : 0;
}

bool is_space(UChar32 c) { return u_isUWhiteSpace(c) != 0; }

bool is_dropped(UChar32 c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;  // controls by category, spaces by use
  return c == 0xFFFD || (category_mask(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

bool is_punctuation(UChar32 c) {
  // All of ASCII's symbols count, also those that Unicode calls mathematical or currency ("$", "+",
  // …).
  if (c < 0x80) return c > ' ' && c < 0x7F && u_isalnum(c) == 0;
  return (category_mask(c) & U_GC_P_MASK) != 0;
}

// The blocks of CJK ideographs that the model was trained with. Kana and Hangul are not among them.
bool is_ideograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

icu::UnicodeString clean(std::string_view text) {
  const icu::UnicodeString input = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  icu::UnicodeString output;
  for (std::int32_t i = 0; i < input.length(); i = input.moveIndex32(i, 1)) {
    const UChar32 c = input.char32At(i);
    if (is_dropped(c)) continue;
    if (is_space(c)) {
      output.append(u' ');
    } else if (is_ideograph(c)) {
      output.append(u' ').append(c).append(u' ');
    } else {
      output.append(c);
    }
  }
  return output;
}

}  // namespace

void require_utf8(std::string_view text) {
  if (text.size() > kMaxBytes) {
    throw std::runtime_error(std::to_string(text.size()) + " bytes, allowed are " +
                             std::to_string(kMaxBytes));
  }
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    UChar32 c = 0;
    U8_NEXT(bytes, i, text.size(),
            c);  // NOLINT(bugprone-inc-dec-in-conditions): inside ICU's macro
    if (c < 0)
      throw std::runtime_error("byte " + std::to_string(start + 1) + " is not valid UTF-8");
  }
}

std::vector<std::u32string> normalized_words(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const nfd = icu::Normalizer2::getNFDInstance(status);
  if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU: ") + u_errorName(status));
  const icu::UnicodeString decomposed = nfd->normalize(clean(text), status);
  if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU: ") + u_errorName(status));

  std::vector<std::u32string> words;
  std::u32string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::int32_t i = 0; i < decomposed.length(); i = decomposed.moveIndex32(i, 1)) {
    const UChar32 cased = decomposed.char32At(i);
    if ((category_mask(cased) & U_GC_MN_MASK) != 0) continue;  // an accent
    const UChar32 c = u_tolower(cased);
    if (is_space(c)) {
      finish();
    } else if (is_punctuation(c)) {
      finish();
      words.emplace_back(1, static_cast<char32_t>(c));
    } else {
      word.push_back(static_cast<char32_t>(c));
    }
  }
  finish();
  return words;
}

std::string to_utf8(std::u32string_view text) {
  std::string output;
  icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()),
                                static_cast<std::int32_t>(text.size()))
      .toUTF8String(output);
  return output;
}

}  // namespace sentence_embedding
