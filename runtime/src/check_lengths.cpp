// Checks of sequence lengths and positions.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <limits.h>

#include <initializer_list>

#include "sequences.h"

namespace fovea::detail {
namespace {

fovea_status check_q_len(const Problem& problem) {
  const int32_t* q_len = problem.call.q_len;
  if (q_len == nullptr) return FOVEA_OK;
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (q_len[b] >= 0 && q_len[b] <= problem.q_rows) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "q_len[%" PRId64 "] = %" PRId32 ": allowed: 0 to q.extent[2] = %" PRId64, b,
                q_len[b], problem.q_rows);
  }
  return FOVEA_OK;
}

fovea_status check_kv_len(const Problem& problem) {
  const int32_t* kv_len = problem.call.kv_len;
  if (kv_len == nullptr) {
    if (!problem.has_cache() || problem.batch == 0) return FOVEA_OK;
    return fail(FOVEA_INVALID_ARGUMENT,
                "kv_len is NULL: must be given, the call has a cache, whose sequences may hold "
                "fewer keys than slots");
  }
  for (int64_t b = 0; b < problem.batch; ++b) {
    const int64_t most = problem.has_ring() ? kLargestPosition : capacity_of(problem, b);
    const char* name = problem.has_ring()               ? "the largest position"
                       : problem.ragged.cu_k != nullptr ? "the keys of the sequence in ragged.cu_k"
                                                        : capacity_name(problem);
    if (kv_len[b] >= 0 && kv_len[b] <= most) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "kv_len[%" PRId64 "] = %" PRId32 ": allowed: 0 to %s = %" PRId64, b, kv_len[b],
                name, most);
  }
  return FOVEA_OK;
}

}  // namespace

const char* capacity_name(const Problem& problem) {
  if (problem.request.pass == FOVEA_APPEND) return "the largest kv_len after the call";
  if (problem.has_ring()) return "the largest kv_len";
  if (problem.has_pages()) return "cache.block_table_columns * k.extent[2]";
  return problem.ragged.cu_k != nullptr ? "the most keys of a sequence in ragged.cu_k"
                                        : "k.extent[2]";
}

fovea_status check_lengths(const Problem& problem) {
  const fovea_call& call = problem.call;
  struct Extent {
    const char* name;
    int64_t value;
  };
  const int64_t kv_rows = problem.has_ring() ? 0 : problem.kv_rows;  // else one of kv_len
  for (const Extent& extent :
       {Extent{problem.is_ragged() ? "the most rows of a sequence in ragged.cu_q" : "q.extent[2]",
               problem.q_rows},
        Extent{capacity_name(problem), kv_rows}}) {
    if (extent.value <= kLargestPosition) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s = %" PRId64 ": supported: 0 to %" PRId64 ", positions are 32-bit", extent.name,
                extent.value, kLargestPosition);
  }
  fovea_status status = check_q_len(problem);
  if (status != FOVEA_OK) return status;
  status = check_kv_len(problem);
  if (status != FOVEA_OK || call.q_offset == nullptr) return status;
  for (int64_t b = 0; b < problem.batch; ++b) {
    // The last row's position, and the distance from the first row back to the last key, must both
    // fit.
    const int64_t lowest = -kLargestPosition + keys_of(problem, b);
    const int64_t highest = kLargestPosition - rows_of(problem, b);
    const int64_t offset = call.q_offset[b];
    if (offset >= lowest && offset <= highest) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "q_offset[%" PRId64 "] = %" PRId64 ": allowed: %" PRId64 " to %" PRId64
                " with %" PRId32 " rows and %" PRId32 " keys, positions are 32-bit",
                b, offset, lowest, highest, rows_of(problem, b), keys_of(problem, b));
  }
  return FOVEA_OK;
}

}  // namespace fovea::detail
