// staged_rows.cpp: which thread reads what of a row, so that warps read whole sectors.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/staged_rows.h"

#include <algorithm>
#include <functional>

#include "generators/pipelines/attention_tiling.h"
#include "generators/schedules/grid_threads.h"
#include "generators/schedules/prefill_gpu.h"
#include "generators/schedules/shared_layout.h"

namespace fovea {
namespace {

using Halide::Func;
using Halide::LoopLevel;
using Halide::Var;

const Var d("d");

// Numbers after a row of values.
int value_padding(const StoredRows& stored) {
  return stored.read_together() > whole_vector ? whole_vector : 0;
}

// Schedules the loops with wide reads by `wide`, and where it depends on the call whether there may
// be any, those without by `narrow`.
void share_rows(Func rows, const LoopLevel& level, const StoredRows& stored,
                const std::function<void(Halide::Stage, int)>& wide,
                const std::function<void(Halide::Stage)>& narrow) {
  rows.compute_at(level);
  const int together = stored.read_together();
  const bool always = together > 1 && Halide::Internal::is_const_one(stored.may_be_wide);
  if (always) {
    wide(rows, together);
  } else {
    if (together > 1) wide(rows.specialize(stored.may_be_wide), together);
    narrow(rows);
  }
}

// Neighbouring wide reads of a row, of `numbers` features each, by the threads of a warp, which
// take as many rows as that leaves: no fewer than share a sector, and so many that what is stored
// across the features, `pitch` words from one to the next, lies in different banks if it can.
int neighbouring_reads(int features, int numbers, int pitch) {
  const auto ways = [&](int reads) {
    return bank_ways(1,
                     [&](int thread) { return thread % reads * numbers * pitch + thread / reads; });
  };
  const int all = features / numbers;
  int best = largest_power_of_two(all, sector_bytes / FOVEA_WIDE_READ);
  for (int reads = best; reads <= banks && all % reads == 0; reads *= 2) {
    if (ways(reads) < ways(best)) best = reads;
  }
  return best;
}

}  // namespace

void share_transposed(Func rows, const LoopLevel& level, const Var& of_row, int together,
                      int row_count, int pitch, const StoredRows& stored,
                      const PrefillGpuSchedule& s) {
  const Var feature("feature"), features_outer("features_outer"), rows_outer("rows_outer");
  const auto wide = [&](Halide::Stage stage, int numbers) {
    const int neighbours = neighbouring_reads(stored.size, numbers, pitch);
    stage.split(d, d, feature, numbers)
        .split(d, features_outer, d, neighbours)
        .split(of_row, rows_outer, of_row, largest_power_of_two(row_count, banks / neighbours))
        .vectorize(feature);
    deal_out(stage, {d, of_row, features_outer, rows_outer}, {feature}, s);
  };
  const auto narrow = [&](Halide::Stage stage) {
    const int features = largest_power_of_two(
        stored.size, std::max(banks / together, sector_bytes / stored.element_bytes));
    stage.split(d, features_outer, feature, features).split(of_row, rows_outer, of_row, together);
    deal_out(stage, {feature, of_row, features_outer, rows_outer}, {}, s);
  };
  share_rows(rows, level, stored, wide, narrow);
}

// A wide read of narrow elements makes several vectors, and threads that store the first of theirs
// skip the others: threads that are served together take as many rows as a read has vectors, and
// what follows a row shifts the next one's banks.
void share_straight(Func rows, const LoopLevel& level, const Var& of_row, int row_count,
                    const StoredRows& stored, const PrefillGpuSchedule& s) {
  const Var feature("feature"), features_outer("features_outer"), rows_outer("rows_outer");
  rows.bound_storage(d, stored.size + value_padding(stored));
  const auto wide = [&](Halide::Stage stage, int numbers) {
    stage.split(d, d, feature, numbers)
        .split(d, features_outer, d, largest_power_of_two(stored.size / numbers, banks / numbers))
        .split(of_row, rows_outer, of_row, largest_power_of_two(row_count, numbers / whole_vector))
        .vectorize(feature);
    deal_out(stage, {d, of_row, features_outer, rows_outer}, {feature}, s);
  };
  share_rows(rows, level, stored, wide,
             [&](Halide::Stage stage) { deal_out(stage, {d, of_row}, {}, s); });
}

}  // namespace fovea
