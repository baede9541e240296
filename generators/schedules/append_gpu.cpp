// append_gpu.cpp: blocks and threads of the append pass on a GPU.
//
// Assumes: whether a token is written is the same for all threads of a block, so that barriers may
// stand under it; what threads share is small. SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/append_gpu.h"

#include <fmt/format.h>

#include <stdexcept>

#include "generators/pipelines/tile_context.h"
#include "generators/schedules/grid_threads.h"
#include "generators/schedules/prefill_gpu.h"

namespace fovea {
namespace {

using namespace tile_vars;
using Halide::Func;
using Halide::LoopLevel;
using Halide::TailStrategy;
using Halide::Var;

void schedule_output(AppendOutput& out, const AppendTiling& t, const AppendGpuSchedule& s) {
  PrefillGpuSchedule threads;
  threads.key_threads = s.threads;
  threads.row_threads = 1;
  Func f = out.f;
  f.output_buffer().dim(0).set_min(0);
  f.output_buffer().dim(1).set_min(0).set_stride(1);
  // Threads that all have as much to do, where there are enough of them. (PoCL 3.1 made wrong code
  // of loops that some threads do not enter.)
  const int even = largest_power_of_two(out.elements, s.threads);
  const int width = even >= 16 || even == out.elements ? even : s.threads;
  const Halide::RVar turn("turn"), thread("thread");
  f.update()
      .allow_race_conditions()
      .split(out.tokens.x, turn, thread, width, TailStrategy::GuardWithIf)
      .reorder(turn, thread, out.tokens.y, out.tokens.z, out.tokens.w)
      .gpu_threads(thread)
      .gpu_blocks(out.tokens.y, out.tokens.z, out.tokens.w)
      .never_partition_all();
  const LoopLevel level(f, out.tokens.y);
  const auto of_token = [&](Func g, const Var& first, int extent) {
    g.bound(first, 0, extent);
    for (const Var& v : append_points()) g.bound_extent(v, 1);
    share(g, level, {first}, threads);
  };
  for (RowStep& step : out.rows.steps.steps) {
    for (RowStep::Reduction& r : step.reductions) {
      for (const Var& v : append_points()) r.f.bound_extent(v, 1);
      share(r.f, level, {qi}, threads);
      deal_out(r.f.update(), {qi}, {r.features.x}, threads);
    }
    of_token(step.row, d, out.rows.size);
  }
  if (!is_quantised(t.cache)) return;
  of_token(out.rows.largest, group, most_groups(out.rows.size));
  deal_out(out.rows.largest.update(), {group}, {out.rows.features.x}, threads);
  of_token(out.rows.scale, group, most_groups(out.rows.size));
}

}  // namespace

void check(const AppendGpuSchedule& s) {
  if (s.threads < 1 || s.threads > 1024)
    throw std::invalid_argument(
        fmt::format("schedule parameter threads is {}: 1 to 1024", s.threads));
}

void schedule_append(AppendGrid& p, const AppendGpuSchedule& s) {
  for (AppendOutput& out : p.outputs) schedule_output(out, p.tiling, s);
}

}  // namespace fovea
