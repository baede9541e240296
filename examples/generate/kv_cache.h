// Keys and values of the tokens so far, in each of the forms that fovea reads.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef GENERATE_KV_CACHE_H_
#define GENERATE_KV_CACHE_H_

#include <fovea/fovea.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace generate {

enum class CacheKind {
  None,        // keys and values of all tokens are computed anew for every token
  Contiguous,  // one slot after the other
  Paged,       // pages of 16 slots in no order
  Ring,        // the first tokens and as many of the last as a window needs
  Int8,
  Int4,
  E4M3,
  E5M2,
};

// In the order in which the program shows them.
const std::vector<CacheKind>& all_cache_kinds();
const char* name_of(CacheKind kind);
// Whether it holds less than it was given, so that other text may come out.
bool is_quantised(CacheKind kind);

struct CacheShape {
  std::int64_t layers = 0, kv_heads = 0, head_dim = 0;
  std::int64_t positions = 0;         // the most tokens that there will be
  std::int32_t window = 0;            // 0: every token is seen
  std::int32_t sinks = 0;             // of a window
  std::int64_t most_tokens_once = 0;  // that are appended before a call
};

class KvCache {
 public:
  // A kind other than None. Throws std::invalid_argument for a ring without a window.
  KvCache(CacheKind kind, const CacheShape& shape);

  // What fovea_append and fovea_call want to know of a layer.
  struct Layer {
    fovea_tensor k = {}, v = {};
    fovea_cache layout = {};
  };
  const Layer& layer(std::int64_t index) const { return layers_[static_cast<std::size_t>(index)]; }

  // Tokens that every layer holds.
  std::int32_t length() const { return length_; }
  void advance(std::int64_t tokens) { length_ += static_cast<std::int32_t>(tokens); }

  // Of all layers: keys, values, scales and the block table.
  std::size_t bytes() const;

 private:
  fovea_tensor pool_(fovea_dtype dtype, std::int64_t features);

  std::int64_t outer_ = 1, heads_, slots_;
  std::vector<std::int32_t> block_table_;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<Layer> layers_;
  std::int32_t length_ = 0;
};

}  // namespace generate

#endif  // GENERATE_KV_CACHE_H_
