// grid_threads.cpp: entries of shared arrays as one number, which all threads take in turn.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/grid_threads.h"

#include "generators/schedules/prefill_gpu.h"

namespace fovea {
namespace {

using namespace grid_vars;
using Halide::Func;
using Halide::LoopLevel;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;

const Var qi("qi"), block("block"), turn("turn");

}  // namespace

void deal_out(Halide::Stage stage, const std::vector<Var>& points,
              const std::vector<VarOrRVar>& inner, const PrefillGpuSchedule& s) {
  Var fused = points[0];
  for (size_t i = 1; i < points.size(); ++i) {
    const Var next("point_" + std::to_string(i));
    stage.fuse(fused, points[i], next);
    fused = next;
  }
  const Var rest("rest");
  stage.split(fused, rest, thread_x, s.key_threads, TailStrategy::GuardWithIf)
      .split(rest, turn, thread_y, s.row_threads, TailStrategy::GuardWithIf);
  std::vector<VarOrRVar> order = inner;
  for (const Var& v : {turn, thread_x, thread_y}) order.emplace_back(v);
  stage.reorder(order).gpu_threads(thread_x, thread_y);
}

void share(Func f, const LoopLevel& level, const std::vector<Var>& points,
           const PrefillGpuSchedule& s) {
  f.compute_at(level);
  deal_out(f, points, {}, s);
}

void share_row_numbers(Func f, const LoopLevel& level, const LoopLevel& home,
                       const PrefillGpuSchedule& s) {
  Func stored = f.in();
  stored.compute_at(level).hoist_storage(home).bound(qi, 0, s.block_rows()).bound_extent(block, 1);
  // Inside the loop over the one block, which is inside the condition on threads that have a row.
  deal_out(stored, {qi}, {block}, s);
  f.compute_at(stored, block).bound_extent(qi, 1);
}

void share_reductions(RowChain& chain, const LoopLevel& level, const Var& of_row, int rows,
                      bool in_block, const PrefillGpuSchedule& s) {
  for (RowStep& step : chain.steps) {
    for (RowStep::Reduction& r : step.reductions) {
      r.f.bound(of_row, 0, rows);
      if (in_block) r.f.bound_extent(block, 1);
      share(r.f, level, {of_row}, s);
      deal_out(r.f.update(), {of_row}, {r.features.x}, s);
    }
  }
}

void set_grid_bounds(const Func& grid, int d_v) {
  // All outputs have the extents of the first one.
  const std::vector<Halide::OutputImageParam> buffers = grid.output_buffers();
  for (int axis = 0; axis < 4; ++axis) Halide::OutputImageParam(buffers[0]).dim(axis).set_min(0);
  Halide::OutputImageParam(buffers[0]).dim(0).set_extent(d_v);
  for (size_t i = 1; i < buffers.size(); ++i)
    Halide::OutputImageParam(buffers[i]).dim(0).set_stride(0);
}

}  // namespace fovea
