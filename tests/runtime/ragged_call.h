// A call over sequences of different lengths, with and without a cache.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cached_call.h"

namespace fovea::test {

struct Lengths {
  int32_t rows, keys;
};

// 4 query and 2 KV heads, d = 32, kernels of CachedCall. There are kBefore rows of q and k before
// those of the first sequence and as many after those of the last. FOVEA_CACHE_SAME: the cache has
// pages of 8 keys, page n + 1 after page n.
struct RaggedCall : CachedCall {
  explicit RaggedCall(const std::vector<Lengths>& lengths,
                      fovea_cache_kind kind = FOVEA_CACHE_NONE);

  static constexpr int32_t kBefore = 3;
  std::vector<int32_t> cu_q, cu_k, keys;
  std::vector<float> ragged_q, ragged_out, ragged_k, ragged_v, probabilities;
  std::vector<int32_t> pages;
  Ragged ragged;

  // Every row of a sequence was computed once, nothing else was written.
  void expect_every_row_once() const;
};

}  // namespace fovea::test
