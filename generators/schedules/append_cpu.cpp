// append_cpu.cpp: loops, vectors and storage of the append pass on a CPU.
//
// Assumes: one call is some tokens of one KV head of one sequence and runs on one thread.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/append_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fovea {
namespace {

using namespace tile_vars;
using Halide::Func;

// Kept for all rows of the call, of which there may be fewer than storage.
void keep(Func f, const AppendCpuSchedule& s) { f.compute_root().bound_storage(qi, s.block_rows); }

void schedule_rows(AppendedRows& r, const AppendPipeline& p, const AppendCpuSchedule& s) {
  for (RowStep& step : r.steps.steps) {
    for (RowStep::Reduction& reduction : step.reductions) {
      keep(reduction.f, s);
      const int lanes = largest_power_of_two(r.size, s.lanes);
      if (reduction.is_sum && lanes > 1)
        reduction.f.update().atomic().vectorize(reduction.features.x, lanes);
    }
    keep(step.row, s);
    step.row.bound(d, 0, r.size).vectorize(d, largest_power_of_two(r.size, s.lanes));
  }
  const int size = stored_size(r.size, p.tiling.cache);
  r.stored.output_buffer().dim(0).set_bounds(0, size);
  r.stored.output_buffer().dim(1).set_min(0);
  r.stored.bound(d, 0, size).vectorize(d, largest_power_of_two(size, s.lanes));
  if (!is_quantised(p.tiling.cache)) return;
  r.stored_scale.output_buffer().dim(0).set_min(0);
  r.stored_scale.output_buffer().dim(1).set_min(0);
  const int groups = std::max(1, r.size / scale_unit);
  for (Func f : {r.largest, r.scale}) {
    keep(f, s);
    f.bound_storage(group, groups);
  }
  if (p.tiling.cache == CacheKind::Int4) {
    keep(r.quantised, s);
    r.quantised.bound(d, 0, r.size).vectorize(d, largest_power_of_two(r.size, s.lanes));
  }
}

}  // namespace

AppendCpuSchedule default_append_schedule(const TargetRow& target) {
  return {target.vector_bytes / 4, 64};
}

void check(const AppendCpuSchedule& s) {
  const auto require = [](bool holds, const char* name, int value, const char* rule) {
    if (!holds)
      throw std::invalid_argument(
          fmt::format("schedule parameter {} is {}: {}", name, value, rule));
  };
  require(s.lanes == 4 || s.lanes == 8 || s.lanes == 16, "lanes", s.lanes,
          "4, 8 or 16 floats make a vector");
  require(s.block_rows >= 1 && s.block_rows <= 1024, "block_rows", s.block_rows, "1 to 1024");
}

void schedule_append(AppendPipeline& p, const AppendCpuSchedule& s) {
  schedule_rows(p.keys, p, s);
  schedule_rows(p.values, p, s);
}

}  // namespace fovea
