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
                           const char* rows_name) {
  if (cu == nullptr) {
    return fail(FOVEA_INVALID_ARGUMENT, "%s is NULL: must hold ragged.batch + 1 = %" PRId64 " rows",
                name, batch + 1);
  }
  int64_t lowest = 0;
  for (int64_t b = 0; b <= batch; ++b) {
    if (cu[b] >= lowest && cu[b] <= rows) {
      lowest = cu[b];
      continue;
    }
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s[%" PRId64 "] = %" PRId32 ": allowed: %" PRId64 "%s to %s = %" PRId64, name, b,
                cu[b], lowest, b > 0 ? ", the one before," : "", rows_name, rows);
  }
  return FOVEA_OK;
}

}  // namespace fovea::detail
