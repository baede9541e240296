// Appends tokens to a cache: what there is to write, and its items.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_APPEND_H
#define FOVEA_APPEND_H

#include "sequences.h"

namespace fovea::detail {

// An append that has passed its checks.
struct Append {
  fovea_append call;
  // What it shares with calls: settings, cache with its k and v, variant, request, shapes. kv_rows
  // is the most keys that a sequence has afterwards; there are no queries.
  Problem problem;
};

// Structures, settings, tensors, lengths, block table. Of capabilities, replaces the forced target
// by the call's. Comes in cleared.
fovea_status check_append(const fovea_library_info& library, int32_t variant,
                          const fovea_append* call, Capabilities* capabilities, Append* append);

inline Outputs outputs_of(const Append& append) {
  const Problem& problem = append.problem;
  Outputs outputs;
  outputs.add("k", problem.call.k);
  outputs.add("v", problem.call.v);
  outputs.add("cache.k_scale", problem.cache.k_scale);
  outputs.add("cache.v_scale", problem.cache.v_scale);
  return outputs;
}

// The keys of sequence b that are new, and of those the ones that a slot is written for: all but
// [gap_begin, gap_end), which a ring gives up before the call ends.
struct NewKeys {
  int32_t begin, end, gap_begin, gap_end;
};
inline NewKeys new_keys_of(const Append& append, int64_t b) {
  const int32_t begin = append.call.kv_len != nullptr ? append.call.kv_len[b] : 0;
  const int32_t end = begin + rows_of(append.problem, b);
  const Ring ring = ring_of(append.problem.cache, end);
  const auto clamped = [&](int32_t key) { return key < begin ? begin : key > end ? end : key; };
  return {begin, end, clamped(ring.sinks), clamped(ring.begin)};
}

fovea_status run_append(const fovea_library_info* library, int32_t variant,
                        const fovea_append* call, const void* params, Capabilities capabilities,
                        int32_t default_threads);

}  // namespace fovea::detail
#endif
