// The Unicode half of the tokenizer: text to lower-case words without accents.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_TEXT_NORMALIZER_H_
#define SENTENCE_EMBEDDING_TEXT_NORMALIZER_H_

#include <string>
#include <string_view>
#include <vector>

namespace sentence_embedding {

// Throws std::runtime_error naming the first byte that is not part of a valid UTF-8 character, and
// on texts above 64 MiB.
void require_utf8(std::string_view text);

// Cleans, decomposes (NFD), strips accents, lower-cases and splits at spaces; every CJK and every
// punctuation character is a word of its own. The text must be valid UTF-8.
std::vector<std::u32string> normalized_words(std::string_view text);

std::string to_utf8(std::u32string_view text);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_TEXT_NORMALIZER_H_
