// SPDX-License-Identifier: Apache-2.0
#include "bert.h"

#include <chrono>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "json_file.h"

namespace sentence_embedding {

BertConfig BertConfig::read(const std::filesystem::path& path) {
  const auto json = read_json(path);
  require_setting(json, path, "model_type", "bert");
  require_setting(json, path, "hidden_act", "gelu");
  require_setting(json, path, "position_embedding_type", "absolute", /*optional=*/true);
  BertConfig config;
  config.hidden = require_count(json, path, "hidden_size");
  config.layers = require_count(json, path, "num_hidden_layers");
  config.heads = require_count(json, path, "num_attention_heads");
  config.intermediate = require_count(json, path, "intermediate_size");
  config.vocabulary = require_count(json, path, "vocab_size");
  config.positions = require_count(json, path, "max_position_embeddings");
  config.token_types = require_count(json, path, "type_vocab_size");
  const auto epsilon = json.find("layer_norm_eps");
  if (epsilon == json.end() || !epsilon->is_number() || !(epsilon->get<double>() > 0)) {
    throw std::runtime_error(path.string() + ": layer_norm_eps must be a positive number");
  }
  config.epsilon = epsilon->get<float>();
  if (config.hidden % config.heads != 0) {
    throw std::runtime_error(path.string() +
                             ": hidden_size must be a multiple of num_attention_heads");
  }
  return config;
}

Bert::Bert(const BertConfig& config, const Safetensors& weights, int threads)
    : config_(config), attention_(threads) {
  const auto dense = [&](const std::string& name, std::int64_t inputs, std::int64_t outputs) {
    return Dense{weights.f32(name + ".weight", {outputs, inputs}),
                 weights.f32(name + ".bias", {outputs}), inputs, outputs};
  };
  const auto norm = [&](const std::string& name) {
    return LayerNorm{weights.f32(name + ".weight", {config.hidden}),
                     weights.f32(name + ".bias", {config.hidden}), config.hidden, config.epsilon};
  };
  const std::int64_t hidden = config.hidden;
  words_ = weights.f32("embeddings.word_embeddings.weight", {config.vocabulary, hidden});
  positions_ = weights.f32("embeddings.position_embeddings.weight", {config.positions, hidden});
  types_ = weights.f32("embeddings.token_type_embeddings.weight", {config.token_types, hidden});
  embedding_norm_ = norm("embeddings.LayerNorm");
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string prefix = "encoder.layer." + std::to_string(i) + ".";
    Layer layer;
    layer.query = dense(prefix + "attention.self.query", hidden, hidden);
    layer.key = dense(prefix + "attention.self.key", hidden, hidden);
    layer.value = dense(prefix + "attention.self.value", hidden, hidden);
    layer.attention_output = dense(prefix + "attention.output.dense", hidden, hidden);
    layer.attention_norm = norm(prefix + "attention.output.LayerNorm");
    layer.intermediate = dense(prefix + "intermediate.dense", hidden, config.intermediate);
    layer.output = dense(prefix + "output.dense", config.intermediate, hidden);
    layer.output_norm = norm(prefix + "output.LayerNorm");
    layers_.push_back(layer);
  }
}

const std::vector<float>& Bert::encode(const TokenBatch& batch, Padding padding) {
  const std::int64_t rows = batch.size() * batch.tokens;
  const auto resize = [rows](std::vector<float>* buffer, std::int64_t width) {
    buffer->resize(static_cast<std::size_t>(rows * width));
  };
  resize(&hidden_, config_.hidden);
  resize(&projections_, 3 * config_.hidden);
  resize(&attended_, config_.hidden);
  resize(&intermediate_, config_.intermediate);
  resize(&result_, config_.hidden);
  embed(batch, padding);
  for (const Layer& layer : layers_) run(layer, batch);
  return hidden_;
}

void Bert::embed(const TokenBatch& batch, Padding padding) {
  const float filler = padding == Padding::Poison ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
  for (std::int64_t b = 0; b < batch.size(); ++b) {
    const std::int64_t length = batch.lengths[static_cast<std::size_t>(b)];
    if (length < 1 || length > batch.tokens || length > config_.positions) {
      throw std::runtime_error("a sequence has " + std::to_string(length) +
                               " tokens, allowed are 1 to " +
                               std::to_string(std::min(batch.tokens, config_.positions)));
    }
    float* row = hidden_.data() + b * batch.tokens * config_.hidden;
    for (std::int64_t t = 0; t < batch.tokens; ++t, row += config_.hidden) {
      if (t >= length) {
        std::fill_n(row, config_.hidden, filler);
        continue;
      }
      const std::int64_t id = batch.ids[static_cast<std::size_t>(b * batch.tokens + t)];
      if (id < 0 || id >= config_.vocabulary) {
        throw std::runtime_error("token id " + std::to_string(id) +
                                 " is not in the vocabulary of " +
                                 std::to_string(config_.vocabulary));
      }
      const float* const word = words_ + id * config_.hidden;
      const float* const position = positions_ + t * config_.hidden;
      for (std::int64_t i = 0; i < config_.hidden; ++i) row[i] = word[i] + types_[i] + position[i];
    }
  }
  apply(embedding_norm_, hidden_.data(), batch.size() * batch.tokens);
}

void Bert::run(const Layer& layer, const TokenBatch& batch) {
  const std::int64_t rows = batch.size() * batch.tokens;
  const std::int64_t hidden = config_.hidden;
  // The three products write side by side, so that one token's query, key and value share a row.
  const Dense* const parts[] = {&layer.query, &layer.key, &layer.value};
  for (std::int64_t i = 0; i < 3; ++i) {
    apply(*parts[i], hidden_.data(), rows, projections_.data() + i * hidden, 3 * hidden);
  }

  const auto start = std::chrono::steady_clock::now();
  attention_.run(
      {projections_.data(), batch.size(), batch.tokens, config_.heads, hidden / config_.heads},
      batch.lengths, attended_.data());
  attention_seconds_ +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  apply(layer.attention_output, attended_.data(), rows, result_.data(), hidden);
  add(hidden_.data(), rows * hidden, result_.data());
  apply(layer.attention_norm, result_.data(), rows);
  std::swap(hidden_, result_);

  apply(layer.intermediate, hidden_.data(), rows, intermediate_.data(), config_.intermediate);
  gelu(rows * config_.intermediate, intermediate_.data());
  apply(layer.output, intermediate_.data(), rows, result_.data(), hidden);
  add(hidden_.data(), rows * hidden, result_.data());
  apply(layer.output_norm, result_.data(), rows);
  std::swap(hidden_, result_);
}

}  // namespace sentence_embedding
