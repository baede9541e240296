// SPDX-License-Identifier: Apache-2.0
#include "encoder.h"

#include <algorithm>
#include <cstddef>

namespace transliterate {
namespace {

constexpr std::int64_t kHalf = kFeatures / 2;

// Rows [names, tokens, kFeatures] of the ids' embeddings; padding is 0.
Encoded embed(const Weights& weights, const std::vector<TokenIds>& batch) {
  Encoded rows;
  rows.names = static_cast<std::int64_t>(batch.size());
  for (const TokenIds& ids : batch) {
    rows.lengths.push_back(static_cast<std::int32_t>(ids.size()));
    rows.tokens = std::max(rows.tokens, static_cast<std::int64_t>(ids.size()));
  }
  rows.memory.resize(static_cast<std::size_t>(rows.names * rows.tokens * kFeatures));
  for (std::int64_t name = 0; name < rows.names; ++name) {
    float* row = rows.memory.data() + name * rows.tokens * kFeatures;
    for (const std::int32_t id : batch[static_cast<std::size_t>(name)]) {
      std::copy_n(weights.embedding + id * kFeatures, kFeatures, row);
      row += kFeatures;
    }
  }
  return rows;
}

// One direction of one layer: `in` to the kHalf features of each row of `out`, rows kFeatures
// apart.
void read_direction(const Gru& gru, Direction direction, const Encoded& in, float* out) {
  const std::int64_t gates = gru.from_input.outputs;
  // What comes from the inputs does not wait for the states: one product for all tokens.
  std::vector<float> from_input(static_cast<std::size_t>(in.names * in.tokens * gates));
  apply(gru.from_input, in.memory.data(), kFeatures, in.names * in.tokens, from_input.data());

  std::vector<float> states(static_cast<std::size_t>(in.names * kHalf));
  std::vector<float> from_state(static_cast<std::size_t>(in.names * gates));
  for (std::int64_t step = 0; step < in.tokens; ++step) {
    apply(gru.from_state, states.data(), kHalf, in.names, from_state.data());
    for (std::int64_t name = 0; name < in.names; ++name) {
      const std::int64_t length = in.lengths[static_cast<std::size_t>(name)];
      if (step >= length) continue;
      const std::int64_t token = direction == kForward ? step : length - 1 - step;
      const std::int64_t row = name * in.tokens + token;
      float* const state = states.data() + name * kHalf;
      advance(from_input.data() + row * gates, from_state.data() + name * gates, kHalf, state);
      std::copy_n(state, kHalf, out + row * kFeatures);
    }
  }
}

// tanh(bridge · mean of a name's rows)
std::vector<float> start_states(const Weights& weights, const Encoded& encoded) {
  std::vector<float> means(static_cast<std::size_t>(encoded.names * kFeatures));
  for (std::int64_t name = 0; name < encoded.names; ++name) {
    const std::int64_t length = encoded.lengths[static_cast<std::size_t>(name)];
    float* const mean = means.data() + name * kFeatures;
    for (std::int64_t token = 0; token < length; ++token) {
      const float* const row = encoded.memory.data() + (name * encoded.tokens + token) * kFeatures;
      for (std::int64_t i = 0; i < kFeatures; ++i) mean[i] += row[i];
    }
    for (std::int64_t i = 0; i < kFeatures; ++i) mean[i] /= static_cast<float>(length);
  }
  std::vector<float> states(means.size());
  apply(weights.bridge, means.data(), kFeatures, encoded.names, states.data());
  tanh_in_place(static_cast<std::int64_t>(states.size()), states.data());
  return states;
}

}  // namespace

Encoded encode(const Weights& weights, const std::vector<TokenIds>& batch) {
  Encoded rows = embed(weights, batch);
  for (const auto& layer : weights.encoder) {
    std::vector<float> next(rows.memory.size());
    read_direction(layer[kForward], kForward, rows, next.data());
    read_direction(layer[kBackward], kBackward, rows, next.data() + kHalf);
    rows.memory.swap(next);
  }
  rows.start = start_states(weights, rows);
  return rows;
}

std::vector<float> forward_states(const Weights& weights, const std::vector<TokenIds>& batch) {
  const Encoded rows = embed(weights, batch);
  std::vector<float> wide(rows.memory.size());
  read_direction(weights.encoder[0][kForward], kForward, rows, wide.data());
  std::vector<float> states(wide.size() / 2);
  for (std::int64_t row = 0; row < rows.names * rows.tokens; ++row) {
    std::copy_n(wide.data() + row * kFeatures, kHalf, states.data() + row * kHalf);
  }
  return states;
}

}  // namespace transliterate
