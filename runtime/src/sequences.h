// The sequences of a call: their lengths, positions and places in the tensors.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SEQUENCES_H
#define FOVEA_SEQUENCES_H

#include "checks.h"

namespace fovea::detail {

// Batch index and row of the first row of a sequence.
struct Place {
  int64_t b, row;
};

// In q and the outputs.
inline Place place_of_rows(const Problem& problem, int64_t b) {
  const int32_t* cu_q = problem.ragged.cu_q;
  return cu_q != nullptr ? Place{0, cu_q[b]} : Place{b, 0};
}

// In k and v, which are no cache.
inline Place place_of_keys(const Problem& problem, int64_t b) {
  const int32_t* cu_k = problem.ragged.cu_k;
  return cu_k != nullptr ? Place{0, cu_k[b]} : Place{b, 0};
}

inline int32_t rows_of(const Problem& problem, int64_t b) {
  if (problem.ragged.cu_q != nullptr) return problem.ragged.cu_q[b + 1] - problem.ragged.cu_q[b];
  return problem.call.q_len != nullptr ? problem.call.q_len[b]
                                       : static_cast<int32_t>(problem.q_rows);
}

// The most keys that kv_len may ask for.
inline int32_t capacity_of(const Problem& problem, int64_t b) {
  if (problem.ragged.cu_k != nullptr) return problem.ragged.cu_k[b + 1] - problem.ragged.cu_k[b];
  return static_cast<int32_t>(problem.kv_rows);
}

inline int32_t keys_of(const Problem& problem, int64_t b) {
  return problem.call.kv_len != nullptr ? problem.call.kv_len[b] : capacity_of(problem, b);
}

// The position of its first row.
inline int32_t offset_of(const Problem& problem, int64_t b) {
  return problem.call.q_offset != nullptr ? problem.call.q_offset[b]
                                          : keys_of(problem, b) - rows_of(problem, b);
}

}  // namespace fovea::detail
#endif
