// The one place that calls the generated library.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_ATTENTION_H_
#define GENERATE_ATTENTION_H_

#include <fovea/fovea.h>
#include <generate_attention.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kv_cache.h"

namespace generate {

// The projections of some tokens that follow each other, as they come out of a matrix product: one
// row per token, which holds [query heads | key heads | value heads].
struct Projections {
  const float* data = nullptr;
  std::int64_t tokens = 0, heads = 0, kv_heads = 0, head_dim = 0;
};

struct AttentionShape {
  std::int64_t head_dim = 0;
  std::int64_t context = 0;  // positions that are turned
  double rope_base = 0;
};

class Attention {
 public:
  // window 0: every earlier token is seen. At most `threads` at once; 0: as many as this process
  // may use.
  Attention(const AttentionShape& shape, std::int32_t window, std::int32_t sinks, int threads);

  // out [tokens, heads · head_dim]. Without a cache the projections are those of all tokens; with
  // one they are new: keys and values are put into `layer` of the cache first. Throws
  // std::runtime_error with the library's message.
  void run(const Projections& projections, const KvCache* cache, std::int64_t layer, float* out);

  // Which kernels the library took and why, for people; each text once.
  const std::vector<std::string>& explanations() const { return explanations_; }
  void keep_explanations() { explain_ = true; }

 private:
  void append_(const Projections& projections, const KvCache& cache, std::int64_t layer);
  void explain_call_(const fovea_call& call);

  std::vector<float> cosine_, sine_;  // [context, head_dim / 2]
  generate_attention_rotary_params params_ = {};
  fovea_exec exec_ = {};
  std::vector<std::byte> workspace_;  // kept from call to call
  std::vector<std::string> explanations_;
  std::int64_t explained_tokens_ = -1;
  bool explain_ = false;
};

}  // namespace generate

#endif  // GENERATE_ATTENTION_H_
