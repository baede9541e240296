// What the program prints about a set of embedded sentences.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_REPORT_H_
#define SENTENCE_EMBEDDING_REPORT_H_

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "pooling.h"

namespace sentence_embedding {

struct EmbeddedSentence {
  std::string text;
  std::size_t tokens = 0;
  Embedding embedding;
};

struct Timing {
  double total_seconds = 0;
  double attention_seconds = 0;
};

// The sentences, their similarity matrix while it fits a screen, and the most similar pairs.
void print_text(const std::vector<EmbeddedSentence>& sentences, const Timing& timing,
                std::ostream& out);

// One object: dimension, sentences (text, tokens, embedding), similarity (matrix), timing.
void print_json(const std::vector<EmbeddedSentence>& sentences, const Timing& timing,
                std::ostream& out);

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_REPORT_H_
