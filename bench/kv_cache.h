// kv_cache.h: the keys and values of a problem in a KV cache.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_KV_CACHE_H
#define FOVEA_BENCH_KV_CACHE_H

#include <fovea/fovea.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/large_memory.h"
#include "bench/problem.h"

namespace fovea::bench {

struct KvCacheChoice {
  std::string kind = "none";  // of KernelSpec
  int64_t page_size = 0;      // 0: no pages

  std::string text() const;  // "none", "int8", "same:16"
};

// The reverse. Throws std::invalid_argument naming what is allowed.
KvCacheChoice parse_kv_cache(const std::string& text);

class KvCache {
 public:
  // Pages lie in random order, heads outside of slots; a scale for each row.
  KvCache(const KvCacheChoice& choice, const Problem& problem);
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  // What fills it from the problem's keys and values.
  const fovea_append& append() const { return append_; }
  void attach(fovea_call& call) const;
  // That a call reads: keys, values and scales.
  double bytes() const { return bytes_; }
  // What an output may be off by because of numbers of few bits, whatever their signs:
  // docs/caches.md.
  double error(const Problem& problem) const;

 private:
  fovea_tensor pool_(fovea_dtype dtype, int64_t outer, int64_t rows, int64_t features);

  KvCacheChoice choice_;
  std::vector<LargeVector<unsigned char>> memory_;
  std::vector<int32_t> table_, lengths_;
  fovea_cache cache_{};
  fovea_append append_{};
  double bytes_ = 0;
};

}  // namespace fovea::bench

#endif
