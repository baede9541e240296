// Checks of sequence lengths and positions.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <limits.h>

#include <initializer_list>

#include "checks.h"

namespace fovea::detail {
namespace {

// Kernels compute with 32-bit positions, add and subtract them (a distance, a window of up to 2^30)
// and round lengths up to whole blocks: positions stay within 2^30 less one block.
constexpr int64_t kBlockRoom = 65536;
constexpr int64_t kLargest = (INT64_C(1) << 30) - kBlockRoom;
constexpr int64_t kSmallest = -kLargest;

fovea_status check_length_array(const char* name, const int32_t* lengths, int64_t batch,
                                int64_t rows, const char* extent) {
  if (lengths == nullptr) return FOVEA_OK;
  for (int64_t b = 0; b < batch; ++b) {
    if (lengths[b] >= 0 && lengths[b] <= rows) continue;
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s[%" PRId64 "] = %" PRId32 ": allowed: 0 to %s = %" PRId64, name, b, lengths[b],
                extent, rows);
  }
  return FOVEA_OK;
}

}  // namespace

int32_t rows_of(const Problem& problem, int64_t b) {
  return problem.call.q_len != nullptr ? problem.call.q_len[b]
                                       : static_cast<int32_t>(problem.q_rows);
}

int32_t keys_of(const Problem& problem, int64_t b) {
  return problem.call.kv_len != nullptr ? problem.call.kv_len[b]
                                        : static_cast<int32_t>(problem.kv_rows);
}

int32_t offset_of(const Problem& problem, int64_t b) {
  return problem.call.q_offset != nullptr ? problem.call.q_offset[b]
                                          : keys_of(problem, b) - rows_of(problem, b);
}

fovea_status check_lengths(const Problem& problem) {
  const fovea_call& call = problem.call;
  struct Extent {
    const char* name;
    int64_t value;
  };
  for (const Extent& extent :
       {Extent{"q.extent[2]", problem.q_rows}, Extent{"k.extent[2]", problem.kv_rows}}) {
    if (extent.value <= kLargest) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s = %" PRId64 ": supported: 0 to %" PRId64 ", positions are 32-bit", extent.name,
                extent.value, kLargest);
  }
  fovea_status status =
      check_length_array("q_len", call.q_len, problem.batch, problem.q_rows, "q.extent[2]");
  if (status != FOVEA_OK) return status;
  status = check_length_array("kv_len", call.kv_len, problem.batch, problem.kv_rows, "k.extent[2]");
  if (status != FOVEA_OK || call.q_offset == nullptr) return status;
  for (int64_t b = 0; b < problem.batch; ++b) {
    // The last row's position, and the distance from the first row back to the last key, must both
    // fit.
    const int64_t lowest = kSmallest + keys_of(problem, b);
    const int64_t highest = kLargest - rows_of(problem, b);
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
