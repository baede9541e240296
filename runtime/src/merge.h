// Parts of attention over disjoint sets of keys, combined.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_MERGE_H
#define FOVEA_MERGE_H

#include <fovea/fovea.h>

namespace fovea::detail {

struct Merge {
  const fovea_partial* parts;
  int64_t count;
  fovea_partial merged;
  fovea_exec exec;
};

// Fills `merge` and checks it, before any work.
fovea_status check_merge(const fovea_partial* parts, int64_t count, const fovea_partial* merged,
                         const fovea_exec* exec, Merge* merge);

// Merges row `row` of head `head` of sequence `batch`.
void merge_row(const Merge& merge, int64_t batch, int64_t head, int64_t row);

}  // namespace fovea::detail
#endif
