// prefill_tail.h: schedules for blocks with fewer rows than a kernel's tile.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_PREFILL_TAIL_H
#define FOVEA_GENERATORS_SCHEDULES_PREFILL_TAIL_H

#include <optional>

#include "generators/schedules/prefill_cpu.h"

namespace fovea {

// A second body of a kernel, and the blocks that it is for.
struct TailBody {
  PrefillCpuSchedule schedule;
  // Over the number of rows of the block; true only where the body's rows hold all of them.
  Halide::Expr serves(const Halide::Expr& rows) const;
  bool by_tiles = false;  // else for blocks of at most one of its tiles
  int wide_tile = 0;      // rows of a tile of the body that it stands in for
};

// The body that computes fewer rows past the last one than a kernel of this schedule does: with one
// row vector instead of several, or else with a vector of half as many lanes. Nothing if the
// schedule asks for no (further) body.
std::optional<TailBody> tail_body(const PrefillCpuSchedule& schedule, int d_v);

}  // namespace fovea

#endif
