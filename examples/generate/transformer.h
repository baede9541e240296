// The model: a small Llama over bytes, with whatever cache it is given.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_TRANSFORMER_H_
#define GENERATE_TRANSFORMER_H_

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "attention.h"
#include "kv_cache.h"
#include "layers.h"
#include "weights.h"

namespace generate {

struct ModelShape {
  std::int64_t vocabulary = 0, width = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0,
               hidden = 0;
  std::int64_t context = 0;         // positions that it may be asked for
  std::int64_t trained_length = 0;  // positions that it has seen
  double rope_base = 0, norm_epsilon = 0;
};

using Tokens = std::vector<std::uint8_t>;

class Transformer {
 public:
  explicit Transformer(const std::filesystem::path& weights);

  const ModelShape& shape() const { return shape_; }
  std::int64_t parameters() const { return parameters_; }
  AttentionShape attention_shape() const {
    return {shape_.head_dim, shape_.context, shape_.rope_base};
  }

  // Logits of what follows the last token. With a cache, `tokens` are those that follow the ones it
  // holds, and it holds them afterwards; without one they are all there are.
  std::vector<float> forward(std::span<const std::uint8_t> tokens, Attention* attention,
                             KvCache* cache) const;

 private:
  struct Layer {
    std::vector<float> attention_norm, mlp_norm;
    Dense query_key_value, attention_out, gate_up, down;
  };
  Dense dense_(const Weights& weights, const std::string& name, std::int64_t outputs,
               std::int64_t inputs);

  ModelShape shape_;
  std::int64_t parameters_ = 0;
  Dense embedding_;  // its rows on the way in, and the last product
  std::vector<Layer> layers_;
  std::vector<float> norm_;
};

}  // namespace generate

#endif  // GENERATE_TRANSFORMER_H_
