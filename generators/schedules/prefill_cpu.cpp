// prefill_cpu.cpp: loops, vectors and storage of the prefill pass on a CPU.
//
// Assumes: one call is one work item and runs on one thread; every extent inside the block is a
// constant, so all storage has constant size and lives on the stack or in the worker's scratch;
// rows beyond the tensor are computed on a repeated row and cut off when the output is stored.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/prefill_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fovea {
namespace {

using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

const Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group");

// The largest of the candidates that divides `extent`; candidates end with 1.
int largest_divisor(int extent, std::initializer_list<int> candidates) {
  for (const int c : candidates) {
    if (extent % c == 0) return c;
  }
  return 1;
}

void schedule_stage(Func state, int update, KeyBlockStage& s, const PrefillCpuSchedule& p, int d_v,
                    bool whole_blocks) {
  const int bq = p.block_rows();
  const RVar c = s.blocks.x;
  Var jo("jo"), ji("ji"), d_o("do"), di("di");
  // Partitioning would copy the whole loop over the key blocks for its first and last iterations.
  state.update(update)
      .reorder(qi, group, c)
      .vectorize(qi, p.lanes)
      .unroll(qi)
      .never_partition_all();

  s.block_out.compute_at(state, c).bound_extent(qi, bq).bound(d, 0, d_v);
  s.block_out.split(d, d_o, di, p.feature_group)
      .reorder(qi, di, d_o)
      .vectorize(qi, p.lanes)
      .unroll(qi)
      .unroll(di);
  s.weighted.compute_at(s.block_out, d_o).bound_extent(qi, bq).bound_extent(d, p.feature_group);
  s.weighted.vectorize(qi, p.lanes).unroll(qi).unroll(d);
  s.weighted.update().reorder(qi, d, s.value_keys).vectorize(qi, p.lanes).unroll(qi).unroll(d);

  for (Func f : {s.maximum, s.sum})
    f.compute_at(state, c).bound_extent(qi, bq).vectorize(qi, p.lanes).unroll(qi);
  s.maximum.update().reorder(qi, s.max_keys).vectorize(qi, p.lanes).unroll(qi);
  s.sum.update().reorder(qi, s.sum_keys).vectorize(qi, p.lanes).unroll(qi);
  s.weight.compute_at(state, c)
      .bound_extent(qi, bq)
      .reorder(qi, j)
      .vectorize(qi, p.lanes)
      .unroll(qi);

  // Rounded up: in a partial block whole tiles of products are computed, past the last key on a
  // repeated row.
  s.score.compute_at(state, c).bound_extent(qi, bq).split(j, jo, ji, p.key_tile,
                                                          TailStrategy::RoundUp);
  s.score.reorder(qi, ji, jo).vectorize(qi, p.lanes).unroll(qi).unroll(ji);
  s.product.compute_at(s.score, jo).bound_extent(qi, bq).bound_extent(j, p.key_tile);
  s.product.vectorize(qi, p.lanes).unroll(qi).unroll(j);
  s.product.update().reorder(qi, j, s.features).vectorize(qi, p.lanes).unroll(qi).unroll(j);

  // One block at a time, said where bounds inference cannot see it through a trimmed loop.
  for (Func f : {s.product, s.score, s.maximum, s.weight, s.sum, s.weighted, s.block_out})
    f.bound_extent(block, 1);
  // Scores of a whole block have a constant place each. A full block also computes all of them; a
  // partial one only those between the first and the last visible key.
  for (Func f : {s.score, s.weight}) {
    if (whole_blocks) {
      f.bound(j, 0, p.key_block);
    } else {
      f.bound_storage(j, p.key_block);
    }
  }

  if (p.feature_unroll > 1) s.product.update().unroll(s.features, p.feature_unroll);
  // Only where the trip count is known; a trimmed loop would need a remainder inside.
  if (whole_blocks && p.key_unroll > 1) s.weighted.update().unroll(s.value_keys, p.key_unroll);
}

void require_rule(bool holds, const char* name, int value, const std::string& rule) {
  if (!holds)
    throw std::invalid_argument(fmt::format("schedule parameter {} is {}: {}", name, value, rule));
}

}  // namespace

std::string PrefillCpuSchedule::text() const {
  return fmt::format(
      "lanes={} row_vectors={} key_tile={} feature_group={} key_block={} feature_unroll={} "
      "key_unroll={}",
      lanes, row_vectors, key_tile, feature_group, key_block, feature_unroll, key_unroll);
}

PrefillCpuSchedule default_prefill_schedule(const TargetRow& target, const Variant& variant,
                                            int d_qk, int d_v) {
  PrefillCpuSchedule s;
  s.lanes = target.vector_bytes / 4;
  s.key_block = 128;
  if (target.vector_registers >= 32) {
    // Two row vectors and eight keys are sixteen accumulators: as fast as a four by four tile in
    // long full attention, and half its rows waste less at the edge of a mask.
    s.row_vectors = 2;
    s.key_tile = 8;
    s.feature_group = largest_divisor(d_v, {8, 4, 2, 1});
    // A mask has partly visible blocks along its edge, whose share shrinks with the block.
    if (!Halide::Internal::is_const_one(variant.mask())) s.key_block = 64;
  } else {
    // Sixteen registers: three row vectors and four keys are twelve accumulators, three operands
    // and one broadcast.
    s.row_vectors = 3;
    s.key_tile = 4;
    s.feature_group = largest_divisor(d_v, {4, 2, 1});
  }
  s.feature_unroll = largest_divisor(d_qk, {4, 2, 1});
  s.key_unroll = 4;
  return s;
}

void check(const PrefillCpuSchedule& s, int d_qk, int d_v) {
  require_rule(s.lanes == 4 || s.lanes == 8 || s.lanes == 16, "lanes", s.lanes,
               "4, 8 or 16 floats make a vector");
  require_rule(s.row_vectors >= 1 && s.row_vectors <= 8, "row_vectors", s.row_vectors, "1 to 8");
  require_rule(s.key_tile >= 1 && s.key_tile <= 16, "key_tile", s.key_tile, "1 to 16");
  require_rule(s.feature_group >= 1 && s.feature_group <= 16 && d_v % s.feature_group == 0,
               "feature_group", s.feature_group,
               fmt::format("1 to 16 and a divisor of d_v = {}", d_v));
  require_rule(s.key_block >= s.key_tile && s.key_block <= 1024 && s.key_block % s.key_tile == 0,
               "key_block", s.key_block,
               fmt::format("a multiple of key_tile = {} up to 1024", s.key_tile));
  require_rule(s.feature_unroll >= 1 && s.feature_unroll <= 16 && d_qk % s.feature_unroll == 0,
               "feature_unroll", s.feature_unroll,
               fmt::format("1 to 16 and a divisor of d_qk = {}", d_qk));
  require_rule(s.key_unroll >= 1 && s.key_unroll <= 16 && s.key_block % s.key_unroll == 0,
               "key_unroll", s.key_unroll,
               fmt::format("1 to 16 and a divisor of key_block = {}", s.key_block));
}

PrefillTiling tiling(const PrefillCpuSchedule& s, int d_qk, int d_v) {
  return {d_qk, d_v, s.block_rows(), s.key_block, s.feature_group};
}

void schedule_prefill(PrefillPipeline& p, const PrefillCpuSchedule& s) {
  const int d_v = p.tiling.d_v, bq = s.block_rows();
  Func out = p.out, state = p.state;
  out.output_buffer().dim(0).set_bounds(0, d_v);
  out.output_buffer().dim(1).set_min(0);
  out.bound(d, 0, d_v).reorder(d, qi);
  if (d_v >= s.lanes) out.vectorize(d, s.lanes, TailStrategy::GuardWithIf);
  if (p.lse.defined()) {
    p.lse.output_buffer().dim(0).set_min(0);
    p.lse.output_buffer().dim(0).set_stride(Halide::Expr());
    p.lse.never_partition_all();
  }
  p.query.compute_root().bound_extent(qi, bq).reorder(qi, d).vectorize(qi, s.lanes).unroll(qi);
  p.rows.compute_root().bound_extent(qi, bq).reorder(qi, d).vectorize(qi, s.lanes).unroll(qi);
  p.divisor.compute_root().bound_extent(qi, bq).vectorize(qi, s.lanes);
  state.compute_root()
      .bound_extent(qi, bq)
      .bound(group, 0, d_v / s.feature_group)
      .bound(slot, 0, s.feature_group + 2);
  state.reorder(qi, slot, group).vectorize(qi, s.lanes).unroll(qi).unroll(slot);

  int update = 0;
  if (p.has_full) schedule_stage(state, update++, p.full, s, d_v, true);
  schedule_stage(state, update, p.partial, s, d_v, false);

  out.never_partition_all();
  state.never_partition_all();
}

}  // namespace fovea
