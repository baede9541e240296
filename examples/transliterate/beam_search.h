// Beam search over a batch of names, all hypotheses about all of them one batch of the decoder.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "decoder.h"
#include "encoder.h"
#include "vocabulary.h"

namespace transliterate {

struct Hypothesis {
  std::string text;
  double score = 0;  // log-probability of a token on average
};

struct Search {
  std::int64_t beam = 2;    // hypotheses kept for each name
  std::int64_t steps = 32;  // at most
  double length_alpha = 1;  // scores are divided by length to the power of it
  Look look = {};
};

// For each name the different texts found, best first.
std::vector<std::vector<Hypothesis>> beam_search(Decoder* decoder, const Vocabulary& vocabulary,
                                                 const Encoded& encoded, const Search& search);

}  // namespace transliterate
