// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include <algorithm>
#include <cstddef>

#include "vocabulary.h"

namespace transliterate {
namespace {

std::vector<float> row_of(const std::vector<float>& rows, std::size_t row, std::size_t width,
                          std::size_t count) {
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::vector<Trace> trace(Decoder* decoder, const Encoded& encoded,
                         const std::vector<TokenIds>& targets, const TraceRequest& request) {
  const std::size_t names = targets.size();
  std::size_t steps = 0;
  for (const TokenIds& target : targets) steps = std::max(steps, target.size());
  std::vector<Trace> traces(names);
  States states = decoder->start(encoded, 1, request.look.link);
  if (request.start != nullptr) {
    for (std::vector<float>& layer : states.layer) layer = *request.start;
  }
  TokenIds tokens(names, Vocabulary::kBegin);
  std::vector<float> weights;
  for (std::size_t step = 0; step < steps; ++step) {
    const std::vector<float>& found =
        decoder->step(encoded, tokens, &states, request.look, request.weights ? &weights : nullptr);
    const std::size_t vocabulary = found.size() / names;
    for (std::size_t name = 0; name < names; ++name) {
      // A target that is done goes on with padding, and nobody looks.
      tokens[name] = step < targets[name].size() ? targets[name][step] : Vocabulary::kPad;
      if (step >= targets[name].size()) continue;
      traces[name].log_probabilities.push_back(row_of(found, name, vocabulary, vocabulary));
      traces[name].states.push_back(row_of(states.layer[kLayers - 1], name,
                                           static_cast<std::size_t>(kFeatures),
                                           static_cast<std::size_t>(kFeatures)));
      if (weights.empty()) continue;
      traces[name].weights.push_back(row_of(weights, name, static_cast<std::size_t>(encoded.tokens),
                                            static_cast<std::size_t>(encoded.lengths[name])));
    }
  }
  return traces;
}

}  // namespace transliterate
