// SPDX-License-Identifier: Apache-2.0
#include "sentence_encoder.h"

#include <cblas.h>
#include <fovea/fovea.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "json_file.h"

namespace sentence_embedding {
namespace {

void require_mean_pooling(const std::filesystem::path& path) {
  const auto json = read_json(path);
  require_setting(json, path, "pooling_mode_mean_tokens", true);
  for (const char* other :
       {"pooling_mode_cls_token", "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens"}) {
    require_setting(json, path, other, false, /*optional=*/true);
  }
}

}  // namespace

SentenceEncoder::SentenceEncoder(const std::filesystem::path& model, int threads)
    : config_(BertConfig::read(model / "config.json")),
      tokenizer_(model),
      weights_(model / "model.safetensors"),
      bert_(config_, weights_, threads) {
  require_mean_pooling(model / "1_Pooling" / "config.json");
  if (tokenizer_.vocabulary_size() != static_cast<std::size_t>(config_.vocabulary)) {
    throw std::runtime_error((model / "vocab.txt").string() + ": has " +
                             std::to_string(tokenizer_.vocabulary_size()) +
                             " tokens, config.json says " + std::to_string(config_.vocabulary));
  }
  openblas_set_num_threads(threads > 0 ? threads : fovea_default_threads());
}

std::vector<Embedding> SentenceEncoder::encode_batch(const std::vector<TokenIds>& sentences,
                                                     Padding padding) {
  TokenBatch batch;
  for (const TokenIds& ids : sentences) {
    batch.lengths.push_back(static_cast<std::int32_t>(ids.size()));
    batch.tokens = std::max(batch.tokens, static_cast<std::int64_t>(ids.size()));
  }
  batch.ids.resize(sentences.size() *
                   static_cast<std::size_t>(batch.tokens));  // 0 is [PAD], never looked at
  for (std::size_t b = 0; b < sentences.size(); ++b) {
    std::copy(sentences[b].begin(), sentences[b].end(),
              batch.ids.begin() + static_cast<std::ptrdiff_t>(b) * batch.tokens);
  }
  const std::vector<float>& states = bert_.encode(batch, padding);
  std::vector<Embedding> embeddings;
  for (std::size_t b = 0; b < sentences.size(); ++b) {
    const float* const first =
        states.data() + static_cast<std::ptrdiff_t>(b) * batch.tokens * config_.hidden;
    embeddings.push_back(mean_pool(first, batch.lengths[b], config_.hidden));
    if (!std::all_of(embeddings.back().begin(), embeddings.back().end(),
                     [](float x) { return std::isfinite(x); })) {
      throw std::runtime_error("the embedding of sentence " + std::to_string(b + 1) +
                               " of a batch is not finite");
    }
  }
  return embeddings;
}

std::vector<Embedding> SentenceEncoder::encode(const std::vector<TokenIds>& sentences,
                                               std::size_t batch_size) {
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sentences[a].size() > sentences[b].size();
  });
  std::vector<Embedding> embeddings(sentences.size());
  for (std::size_t first = 0; first < order.size(); first += batch_size) {
    const std::size_t last = std::min(first + batch_size, order.size());
    std::vector<TokenIds> batch;
    for (std::size_t i = first; i < last; ++i) batch.push_back(sentences[order[i]]);
    std::vector<Embedding> results = encode_batch(batch);
    for (std::size_t i = first; i < last; ++i) embeddings[order[i]] = std::move(results[i - first]);
  }
  return embeddings;
}

}  // namespace sentence_embedding
