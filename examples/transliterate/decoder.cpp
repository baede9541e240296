// SPDX-License-Identifier: Apache-2.0
#include "decoder.h"

#include <algorithm>
#include <cstddef>

namespace transliterate {
namespace {

std::vector<float> matrix(std::int64_t rows, std::int64_t columns) {
  return std::vector<float>(static_cast<std::size_t>(rows * columns));
}

// One layer of recurrence: states in place from inputs of as many rows.
void advance_all(const Gru& gru, const float* input, std::int64_t rows, float* states) {
  const std::int64_t gates = gru.from_state.outputs;
  std::vector<float> from_input = matrix(rows, gates);
  std::vector<float> from_state = matrix(rows, gates);
  apply(gru.from_input, input, kFeatures, rows, from_input.data());
  apply(gru.from_state, states, kFeatures, rows, from_state.data());
  for (std::int64_t row = 0; row < rows; ++row) {
    advance(from_input.data() + row * gates, from_state.data() + row * gates, kFeatures,
            states + row * kFeatures);
  }
}

}  // namespace

void States::reorder(const std::vector<std::int64_t>& rows) {
  for (std::vector<float>& states : layer) {
    std::vector<float> next(states.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(states.data() + rows[i] * kFeatures, kFeatures,
                  next.data() + static_cast<std::int64_t>(i) * kFeatures);
    }
    states.swap(next);
  }
}

States Decoder::start(const Encoded& encoded, std::int64_t per_name, Link link) const {
  States states;
  states.per_name = per_name;
  for (std::vector<float>& layer : states.layer) {
    layer = matrix(encoded.names * per_name, kFeatures);
    if (link == Link::LooksOnly || link == Link::Nothing) continue;
    for (std::int64_t row = 0; row < encoded.names * per_name; ++row) {
      std::copy_n(encoded.start.data() + row / per_name * kFeatures, kFeatures,
                  layer.data() + row * kFeatures);
    }
  }
  return states;
}

const std::vector<float>& Decoder::step(const Encoded& encoded, const TokenIds& tokens,
                                        States* states, const Look& look,
                                        std::vector<float>* weights) {
  const std::int64_t rows = encoded.names * states->per_name;
  std::vector<float> embedded = matrix(rows, kFeatures);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(weights_.embedding + tokens[static_cast<std::size_t>(row)] * kFeatures, kFeatures,
                embedded.data() + row * kFeatures);
  }
  const float* input = embedded.data();
  for (int layer = 0; layer < kLayers; ++layer) {
    float* const state = states->layer[layer].data();
    advance_all(weights_.decoder[layer], input, rows, state);
    input = state;
  }

  // [state | context], which is what `combine` reads; attention writes straight into its half.
  std::vector<float> both = matrix(rows, 2 * kFeatures);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(input + row * kFeatures, kFeatures, both.data() + row * 2 * kFeatures);
  }
  if (look.link != Link::StateOnly && look.link != Link::Nothing) {
    std::vector<float> queries = matrix(rows, kFeatures);
    apply(weights_.query, input, kFeatures, rows, queries.data());
    if (weights != nullptr) *weights = matrix(rows, encoded.tokens);
    attention_.run(
        {queries.data(), states->per_name, look.link == Link::Mean ? 0.0F : look.scale},
        encoded.view(),
        {both.data() + kFeatures, 2 * kFeatures, weights != nullptr ? weights->data() : nullptr});
  }

  std::vector<float> combined = matrix(rows, kFeatures);
  apply(weights_.combine, both.data(), 2 * kFeatures, rows, combined.data());
  tanh_in_place(rows * kFeatures, combined.data());
  log_probabilities_ = matrix(rows, weights_.vocabulary);
  apply(weights_.output, combined.data(), kFeatures, rows, log_probabilities_.data());
  for (std::int64_t row = 0; row < rows; ++row) {
    log_softmax(weights_.vocabulary, log_probabilities_.data() + row * weights_.vocabulary);
  }
  return log_probabilities_;
}

}  // namespace transliterate
