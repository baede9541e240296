// Checks of ragged batches: which rows belong to which sequence.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <limits.h>

#include "checks.h"

namespace fovea::detail {

fovea_status check_ragged(const fovea_ragged* given, fovea_ragged* ragged) {
  const fovea_status status =
      complete("ragged", given, kFirstRaggedSize, sizeof(fovea_ragged), ragged);
  if (status != FOVEA_OK) return status;
  if (ragged->batch < 0 || ragged->batch > INT32_MAX) {
    return fail(FOVEA_INVALID_ARGUMENT, "ragged.batch = %" PRId64 ": allowed: 0 to %d",
                ragged->batch, INT32_MAX);
  }
  return FOVEA_OK;
}

fovea_status check_offsets(const char* name, const int32_t* cu, int64_t batch, int64_t rows,
                           const char* rows_name, int64_t* longest) {
  if (cu == nullptr) {
    return fail(FOVEA_INVALID_ARGUMENT, "%s is NULL: must hold ragged.batch + 1 = %" PRId64 " rows",
                name, batch + 1);
  }
  int64_t lowest = 0;
  *longest = 0;
  for (int64_t b = 0; b <= batch; ++b) {
    if (cu[b] >= lowest && cu[b] <= rows) {
      if (b > 0 && cu[b] - lowest > *longest) *longest = cu[b] - lowest;
      lowest = cu[b];
      continue;
    }
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s[%" PRId64 "] = %" PRId32 ": allowed: %" PRId64 "%s to %s = %" PRId64, name, b,
                cu[b], lowest, b > 0 ? ", the one before," : "", rows_name, rows);
  }
  return FOVEA_OK;
}

fovea_status check_sequences(Problem* problem) {
  const fovea_call& call = problem->call;
  const fovea_ragged& ragged = problem->ragged;
  if (call.q_len != nullptr) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "q_len = %p: must be NULL, ragged.cu_q says how many rows each sequence has",
                static_cast<const void*>(call.q_len));
  }
  if (call.q.extent[0] != 1) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "q.extent[0] = %" PRId64
                ": allowed: 1, the rows of all sequences of a ragged batch are in axis 2",
                call.q.extent[0]);
  }
  problem->batch = ragged.batch;
  const fovea_status status = check_offsets("ragged.cu_q", ragged.cu_q, ragged.batch,
                                            call.q.extent[2], "q.extent[2]", &problem->q_rows);
  if (status != FOVEA_OK) return status;
  if (!problem->has_cache()) {
    return check_offsets("ragged.cu_k", ragged.cu_k, ragged.batch, call.k.extent[2], "k.extent[2]",
                         &problem->kv_rows);
  }
  if (ragged.cu_k == nullptr) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT, "ragged.cu_k = %p: must be NULL, the call has a cache",
              static_cast<const void*>(ragged.cu_k));
}

}  // namespace fovea::detail
