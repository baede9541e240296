// Where a cache holds the keys of a sequence. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SLOTS_H
#define FOVEA_SLOTS_H

#include <fovea/registry.h>

namespace fovea::detail {

// A ring as kernels take it. Key i below sinks has slot i, another one t = slot + i - begin, or t
// less (end - sinks) if t >= end. Without a ring that is i for every key.
struct Ring {
  int32_t sinks;
  int32_t begin;  // the first key from sinks on that is still there
  int32_t slot;   // its slot
  int32_t end;    // one after the last slot
};

inline Ring ring_of(const fovea_cache& cache, int32_t kv_len) {
  if (cache.ring_window == 0) return {0, 0, 0, INT32_MAX};
  const int32_t sinks = cache.ring_sinks;
  const int32_t oldest = kv_len - cache.ring_window;
  const int32_t begin = oldest > sinks ? oldest : sinks;
  return {sinks, begin, sinks + (begin - sinks) % cache.ring_window, sinks + cache.ring_window};
}

// Slots from 0 on that hold, or have held, a key.
inline int64_t used_slots(const fovea_cache& cache, int32_t kv_len) {
  if (cache.ring_window == 0) return kv_len;
  const int64_t slots = int64_t{cache.ring_sinks} + cache.ring_window;
  return kv_len < slots ? kv_len : slots;
}

// Of a page size that is a power of two.
inline int32_t page_shift_of(int64_t page_size) {
  return __builtin_ctzll(static_cast<unsigned long long>(page_size));
}

// The page size of a sequence without pages is 2^30, more than it has slots.
constexpr int32_t kWithoutPages = 30;

}  // namespace fovea::detail
#endif
