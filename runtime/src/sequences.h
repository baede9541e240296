// The sequences of a call: their lengths, positions, places in the tensors, pass and order.
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
  return problem.is_ragged() ? Place{0, problem.ragged.cu_q[b]} : Place{b, 0};
}

// In k and v, which are no cache.
inline Place place_of_keys(const Problem& problem, int64_t b) {
  const int32_t* cu_k = problem.ragged.cu_k;
  return cu_k != nullptr ? Place{0, cu_k[b]} : Place{b, 0};
}

inline int32_t rows_of(const Problem& problem, int64_t b) {
  if (problem.is_ragged()) return problem.ragged.cu_q[b + 1] - problem.ragged.cu_q[b];
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

inline fovea_pass pass_of(const Problem& problem, int64_t b) {
  return rows_of(problem, b) <= problem.decode_rows ? FOVEA_DECODE : FOVEA_PREFILL;
}

// Some sequences in the order in which they are computed.
struct Sequences {
  const int32_t* order;  // NULL: 0, 1, 2, …
  int64_t count;

  int64_t at(int64_t index) const { return order != nullptr ? order[index] : index; }
};

struct SequencesOfPasses {
  Sequences prefill, decode;
};

// Those of a ragged batch that have rows, longest first to within a factor of 2, so that no worker
// is left with a long one at the end. order: room for all of them.
SequencesOfPasses order_sequences(const Problem& problem, int32_t* order);

// Those of another batch, which all run in one pass, as they are.
SequencesOfPasses all_sequences(const Problem& problem, fovea_pass pass);

}  // namespace fovea::detail
#endif
