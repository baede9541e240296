// staged_rows.h: rows of queries, keys and values on their way from global to shared memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_STAGED_ROWS_H
#define FOVEA_GENERATORS_SCHEDULES_STAGED_ROWS_H

#include <Halide.h>

#include <fovea/registry.h>

namespace fovea {

struct PrefillGpuSchedule;

// Rows in memory of the device.
struct StoredRows {
  int size, element_bytes;
  Halide::Expr may_be_wide;  // whether rows begin where a wide read may; undefined: never

  // Neighbouring features of a wide read; 1: there is none.
  int read_together() const {
    const int features = FOVEA_WIDE_READ / element_bytes;
    return may_be_wide.defined() && size % features == 0 ? features : 1;
  }
};

// Rows that are read along their features, as they lie, and stored across them, `pitch` words from
// one to the next, `together` of them read at once: threads that are served together take few
// features of some rows, which with the right padding lie in different banks, but no fewer than
// share a sector.
void share_transposed(Halide::Func rows, const Halide::LoopLevel& level, const Halide::Var& of_row,
                      int together, int row_count, int pitch, const StoredRows& stored,
                      const PrefillGpuSchedule& schedule);

// The same, stored as they are read.
void share_straight(Halide::Func rows, const Halide::LoopLevel& level, const Halide::Var& of_row,
                    int row_count, const StoredRows& stored, const PrefillGpuSchedule& schedule);

}  // namespace fovea

#endif
