// The encoder: names as rows of numbers, read in both directions by gated recurrent units.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "attention.h"
#include "weights.h"

namespace transliterate {

using TokenIds = std::vector<std::int32_t>;

// What the encoder makes of a batch.
struct Encoded {
  std::int64_t names = 0;
  std::int64_t tokens = 0;            // of the longest
  std::vector<std::int32_t> lengths;  // [names]
  std::vector<float> memory;          // [names, tokens, kFeatures], padding 0
  std::vector<float> start;           // [names, kFeatures]: the state the decoder starts with

  Memory view() const { return {memory.data(), names, tokens, lengths}; }
};

// Names of different lengths do not influence each other: each is read from its own first character
// to its own last one and back.
Encoded encode(const Weights& weights, const std::vector<TokenIds>& batch);

// The states of the lowest layer on its way from the first token to the last:
// [names, tokens, kFeatures / 2].
std::vector<float> forward_states(const Weights& weights, const std::vector<TokenIds>& batch);

}  // namespace transliterate
