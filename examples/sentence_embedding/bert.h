// The BERT encoder: token ids of a padded batch to one vector per token.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef SENTENCE_EMBEDDING_BERT_H_
#define SENTENCE_EMBEDDING_BERT_H_

#include <cstdint>
#include <filesystem>
#include <vector>

#include "attention.h"
#include "layers.h"
#include "safetensors.h"

namespace sentence_embedding {

struct BertConfig {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t intermediate = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  std::int64_t token_types = 0;
  float epsilon = 0;

  // From the model's config.json. Throws when it describes something else than a BERT with exact
  // GELU.
  static BertConfig read(const std::filesystem::path& path);
};

// Sequences one after the other, each padded to `tokens`.
struct TokenBatch {
  std::int64_t tokens = 0;
  std::vector<std::int32_t> ids;      // [lengths.size(), tokens]
  std::vector<std::int32_t> lengths;  // real tokens of each sequence, 1 … tokens

  std::int64_t size() const { return static_cast<std::int64_t>(lengths.size()); }
};

// What stands in the rows of the padding. It cannot matter; Poison fills them with NaN to prove
// that.
enum class Padding { Zero, Poison };

class Bert {
 public:
  // Borrows the weights, which must outlive this object; throws on a missing or misshapen tensor.
  Bert(const BertConfig& config, const Safetensors& weights, int threads);

  // Hidden states of the last layer [size, tokens, hidden]; rows of the padding are meaningless.
  // Valid until the next call.
  const std::vector<float>& encode(const TokenBatch& batch, Padding padding = Padding::Zero);

  SelfAttention& attention() { return attention_; }
  double attention_seconds() const { return attention_seconds_; }  // of all calls so far

 private:
  struct Layer {
    Dense query, key, value, attention_output;
    LayerNorm attention_norm;
    Dense intermediate, output;
    LayerNorm output_norm;
  };

  void embed(const TokenBatch& batch, Padding padding);
  void run(const Layer& layer, const TokenBatch& batch);

  BertConfig config_;
  const float* words_ = nullptr;      // [vocabulary, hidden]
  const float* positions_ = nullptr;  // [positions, hidden]
  const float* types_ = nullptr;      // [token_types, hidden]; a single sentence is type 0
  LayerNorm embedding_norm_;
  std::vector<Layer> layers_;
  SelfAttention attention_;
  double attention_seconds_ = 0;

  std::vector<float> hidden_;        // [rows, hidden]
  std::vector<float> projections_;   // [rows, 3 · hidden]
  std::vector<float> attended_;      // [rows, hidden]
  std::vector<float> intermediate_;  // [rows, intermediate]
  std::vector<float> result_;        // [rows, hidden]
};

}  // namespace sentence_embedding

#endif  // SENTENCE_EMBEDDING_BERT_H_
