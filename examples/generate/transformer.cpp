// SPDX-License-Identifier: Apache-2.0
#include "transformer.h"

#include <algorithm>
#include <string>

namespace generate {
namespace {

// More than any model of this kind has; it keeps a damaged file from asking for all memory.
constexpr std::int64_t kMost = 1 << 16;
constexpr std::int64_t kBytes = 256;

ModelShape read_shape(const Weights& weights) {
  ModelShape s;
  s.vocabulary = weights.count("vocabulary", kMost);
  s.width = weights.count("width", kMost);
  s.layers = weights.count("layers", kMost);
  s.heads = weights.count("heads", kMost);
  s.kv_heads = weights.count("kv_heads", kMost);
  s.head_dim = weights.count("head_dim", kMost);
  s.hidden = weights.count("hidden", kMost);
  s.context = weights.count("context", kMost);
  s.trained_length = weights.count("trained_length", kMost);
  s.rope_base = weights.number("rope_base");
  s.norm_epsilon = weights.number("norm_epsilon");
  if (s.vocabulary != kBytes) weights.fail("setting vocabulary: only 256, bytes, is supported");
  if (s.heads % s.kv_heads != 0) weights.fail("setting heads: must be a multiple of kv_heads");
  return s;
}

}  // namespace

Dense Transformer::dense_(const Weights& weights, const std::string& name, std::int64_t outputs,
                          std::int64_t inputs) {
  parameters_ += outputs * inputs;
  return {weights.tensor(name + ".weight", {outputs, inputs}), inputs, outputs};
}

Transformer::Transformer(const std::filesystem::path& path) {
  const Weights weights(path);
  shape_ = read_shape(weights);
  const ModelShape& s = shape_;
  const auto norm = [&](const std::string& name) {
    parameters_ += s.width;
    return weights.tensor(name + ".weight", {s.width});
  };
  embedding_ = dense_(weights, "embedding", s.vocabulary, s.width);
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const std::string name = "layers." + std::to_string(i) + ".";
    Layer layer;
    layer.attention_norm = norm(name + "attention_norm");
    layer.query_key_value =
        dense_(weights, name + "query_key_value", (s.heads + 2 * s.kv_heads) * s.head_dim, s.width);
    layer.attention_out = dense_(weights, name + "attention_out", s.width, s.heads * s.head_dim);
    layer.mlp_norm = norm(name + "mlp_norm");
    layer.gate_up = dense_(weights, name + "gate_up", 2 * s.hidden, s.width);
    layer.down = dense_(weights, name + "down", s.width, s.hidden);
    layers_.push_back(std::move(layer));
  }
  norm_ = norm("norm");
}

std::vector<float> Transformer::forward(std::span<const std::uint8_t> tokens, Attention* attention,
                                        KvCache* cache) const {
  const ModelShape& s = shape_;
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const auto floats = [rows](std::int64_t features) {
    return std::vector<float>(static_cast<std::size_t>(rows * features));
  };
  std::vector<float> x = floats(s.width), normed = floats(s.width);
  std::vector<float> projected = floats((s.heads + 2 * s.kv_heads) * s.head_dim);
  std::vector<float> attended = floats(s.heads * s.head_dim);
  std::vector<float> gate_up = floats(2 * s.hidden), gated = floats(s.hidden);

  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::copy_n(embedding_.weight.data() + tokens[i] * s.width, s.width,
                x.data() + static_cast<std::int64_t>(i) * s.width);
  }
  for (std::int64_t i = 0; i < s.layers; ++i) {
    const Layer& layer = layers_[static_cast<std::size_t>(i)];
    rms_norm(layer.attention_norm, s.norm_epsilon, x.data(), rows, normed.data());
    apply(layer.query_key_value, normed.data(), rows, Sum::Set, projected.data());
    attention->run({projected.data(), rows, s.heads, s.kv_heads, s.head_dim}, cache, i,
                   attended.data());
    apply(layer.attention_out, attended.data(), rows, Sum::Add, x.data());
    rms_norm(layer.mlp_norm, s.norm_epsilon, x.data(), rows, normed.data());
    apply(layer.gate_up, normed.data(), rows, Sum::Set, gate_up.data());
    gated_silu(gate_up.data(), rows, s.hidden, gated.data());
    apply(layer.down, gated.data(), rows, Sum::Add, x.data());
  }
  if (cache != nullptr) cache->advance(rows);

  std::vector<float> logits(static_cast<std::size_t>(s.vocabulary));
  rms_norm(norm_, s.norm_epsilon, x.data() + (rows - 1) * s.width, 1, normed.data());
  apply(embedding_, normed.data(), 1, Sum::Set, logits.data());
  return logits;
}

}  // namespace generate
