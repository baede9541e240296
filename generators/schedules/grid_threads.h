// grid_threads.h: work of a block of threads on a GPU, dealt out to its threads.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_GRID_THREADS_H
#define FOVEA_GENERATORS_SCHEDULES_GRID_THREADS_H

#include <Halide.h>

#include <vector>

#include "generators/pipelines/row_chain.h"

namespace fovea {

struct PrefillGpuSchedule;

// The loops over threads of every array that a block shares.
namespace grid_vars {
inline const Halide::Var thread_x("thread_x"), thread_y("thread_y");
}

// Every entry of a Func of some of (qi, d, j, …) alone: `points` become one number, the first of
// them counting fastest, which is dealt out to all threads; for each of its points a thread runs
// `inner`. What lies around these loops is left as it is.
void deal_out(Halide::Stage stage, const std::vector<Halide::Var>& points,
              const std::vector<Halide::VarOrRVar>& inner, const PrefillGpuSchedule& schedule);
// Computed at the level, in memory that the threads share.
void share(Halide::Func f, const Halide::LoopLevel& level, const std::vector<Halide::Var>& points,
           const PrefillGpuSchedule& schedule);
// A number of each row of a tile, reduced over the keys of a block: one thread finds it, in a
// register, and stores it once. home: the level where its memory is kept.
void share_row_numbers(Halide::Func f, const Halide::LoopLevel& level,
                       const Halide::LoopLevel& home, const PrefillGpuSchedule& schedule);
// Reductions of a chain; its last rows are for the caller, those between are computed where they
// are used.
void share_reductions(RowChain& chain, const Halide::LoopLevel& level, const Halide::Var& of_row,
                      int rows, bool in_block, const PrefillGpuSchedule& schedule);
// Of a Func that grid_of_rows has made.
void set_grid_bounds(const Halide::Func& grid, int d_v);

}  // namespace fovea

#endif
