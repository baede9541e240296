// A given result spelled step by step: what the decoder thought, knew and looked at on the way.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "decoder.h"
#include "encoder.h"

namespace transliterate {

// Of one name; a row for each token of its target.
struct Trace {
  std::vector<std::vector<float>> log_probabilities;  // [vocabulary]
  std::vector<std::vector<float>> states;             // [kFeatures], of the last layer
  std::vector<std::vector<float>> weights;            // [source tokens], if asked for
};

struct TraceRequest {
  bool weights = false;
  Look look = {};
  // The state to start with, of another name; null: that of the name itself.
  const std::vector<float>* start = nullptr;  // [names, kFeatures]
};

// `targets` end with the mark for the end. All names are one batch.
std::vector<Trace> trace(Decoder* decoder, const Encoded& encoded,
                         const std::vector<TokenIds>& targets, const TraceRequest& request);

}  // namespace transliterate
