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
#include <string_view>

#include "generators/schedules/cached_block_cpu.h"

namespace fovea {
namespace {

using Halide::Expr;
using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

const Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group"), k("k"),
    diagonal("diagonal");

// Rows of what is kept for the whole block: always all of them, or of several tiles those that hold
// a row of the tensor.
void bound_rows(Func f, const PrefillCpuSchedule& p) {
  f.compute_root();
  if (p.row_tiles == 1) {
    f.bound_extent(qi, p.block_rows());
  } else {
    f.align_bounds(qi, p.tile_rows()).bound_storage(qi, p.block_rows());
  }
}

// A tile of rows after the other, inside it `inner`, and a tile's rows in registers.
void loop_over_rows(Halide::Stage stage, const std::vector<Halide::VarOrRVar>& inner,
                    const PrefillCpuSchedule& p) {
  const Var row("row");
  std::vector<Halide::VarOrRVar> order = {row};
  order.insert(order.end(), inner.begin(), inner.end());
  order.emplace_back(qi);
  stage.split(qi, qi, row, p.tile_rows()).reorder(order).vectorize(row, p.lanes).unroll(row);
}

// Rows of the tile are the lanes, features follow in memory. Squares of as many features as lanes:
// rows that lie in memory the other way round are then transposed in registers
// (lowering/transpose_loads.h).
void schedule_rows_as_lanes(Func f, const PrefillCpuSchedule& p, int features) {
  bound_rows(f, p);
  if (features % p.lanes != 0) {
    loop_over_rows(f, {d}, p);
    return;
  }
  const Var row("row"), feature("feature");
  f.bound(d, 0, features)
      .split(qi, qi, row, p.lanes)
      .split(d, d, feature, p.lanes)
      .reorder(row, feature, d, qi)
      .vectorize(row)
      .unroll(feature);
}

void schedule_query_rows(RowChain& chain, const PrefillCpuSchedule& p, int features) {
  for (RowStep& step : chain.steps) {
    for (RowStep::Reduction& r : step.reductions) {
      bound_rows(r.f, p);
      loop_over_rows(r.f, {}, p);
      loop_over_rows(r.f.update(), {r.features.x}, p);
    }
    schedule_rows_as_lanes(step.row, p, features);
  }
}

// Features of a key are the lanes: rows lie in memory so, and few keys are reduced at once.
void schedule_key_rows(RowChain& chain, Halide::LoopLevel level, const PrefillCpuSchedule& p,
                       int size) {
  for (RowStep& step : chain.steps) {
    for (RowStep::Reduction& r : step.reductions) {
      r.f.compute_at(level).bound_extent(block, 1).bound(j, 0, p.key_block);
      if (r.is_sum && size % p.lanes == 0) r.f.update().atomic().vectorize(r.features.x, p.lanes);
    }
    step.row.compute_at(level).bound_extent(block, 1).bound(j, 0, p.key_block).bound(d, 0, size);
    if (size % p.lanes == 0) step.row.vectorize(d, p.lanes);
  }
}

// Where the Funcs of one stage are computed.
struct StageLevels {
  Halide::LoopLevel block;  // once for a block of keys
  Halide::LoopLevel tile;   // once for each tile of rows of it
};

// The loop over the key blocks of a stage, and what has to be known before it.
StageLevels schedule_block_loop(Func state, int update, BlockLoop& loop,
                                const PrefillCpuSchedule& p) {
  const RVar c = loop.blocks.x;
  // Levels are told apart by their names alone.
  const Var tile("tile_" + std::to_string(update));
  Halide::Stage stage = state.update(update);
  if (p.row_tiles > 1) stage.split(qi, tile, qi, p.tile_rows());
  std::vector<Halide::VarOrRVar> order = {qi, group};
  if (p.row_tiles > 1) order.emplace_back(tile);
  order.emplace_back(c);
  if (loop.by_status) {
    const RVar chunk = loop.blocks.y;
    order.emplace_back(chunk);
    loop.status.compute_at(state, chunk);
    for (EntryBounds& e : loop.key_entries) {
      e.both.compute_at(state, chunk);
      if (p.key_block % p.lanes == 0) e.both.update().atomic().vectorize(e.range.x, p.lanes);
    }
  }
  // Partitioning would copy the whole loop over the key blocks for its first and last iterations.
  stage.reorder(order).vectorize(qi, p.lanes).unroll(qi).never_partition_all();
  const Halide::LoopLevel one_block(state, c);
  return {one_block, p.row_tiles > 1 ? Halide::LoopLevel(state, tile) : one_block};
}

// Two keys or two features in a word, ready to be broadcast.
void schedule_pairs(KeyBlockStage& s, const Halide::LoopLevel& level, const PrefillCpuSchedule& p,
                    const AttentionTiling& t) {
  if (s.key_pairs.defined()) {
    s.key_pairs.compute_at(level).bound(d, 0, t.d_qk / 2).bound(j, 0, p.key_block);
    if (t.d_qk / 2 % p.lanes == 0) s.key_pairs.vectorize(d, p.lanes);
  }
  if (s.value_pairs.defined()) {
    s.value_pairs.compute_at(level).bound(d, 0, t.d_v).bound(j, 0, p.key_block / 2);
    if (t.d_v % p.lanes == 0) s.value_pairs.vectorize(d, p.lanes).unroll(d);
  }
  for (Func f : {s.key_pairs, s.value_pairs}) {
    if (f.defined()) f.bound_extent(block, 1);
  }
}

// Rows as they lie, for as many of them as a vector has lanes; then squares of as many keys, which
// are transposed in registers (lowering/transpose_loads.h).
void schedule_dense_tile(DenseTile& tile, const Halide::LoopLevel& level,
                         const PrefillCpuSchedule& p) {
  const Var row("row"), key("key");
  Func columns = tile.columns, rows = tile.rows;
  columns.compute_at(level)
      .bound_extent(block, 1)
      .bound(j, 0, p.key_block)
      .bound_storage(j, p.key_block)
      .bound_storage(qi, p.block_rows());
  if (p.row_tiles == 1) columns.bound_extent(qi, p.block_rows());
  const int keys = p.key_block % p.lanes == 0 ? p.lanes : 1;
  columns.split(qi, qi, row, p.lanes)
      .split(j, j, key, keys)
      .reorder(row, key, j, qi)
      .vectorize(row)
      .unroll(key);
  rows.compute_at(columns, qi)
      .bound_extent(block, 1)
      .bound(j, 0, p.key_block)
      .bound_storage(j, p.key_block)
      .bound_storage(qi, p.lanes);
  // Every (lane, vector) is a key of its own, which Halide does not see.
  rows.update(0).reorder(tile.keys.x, tile.keys.y, qi).allow_race_conditions();
  rows.update(0).specialize(tile.side_by_side).vectorize(tile.keys.x);
  if (tile.last_keys.defined()) rows.update(1).reorder(tile.last_keys.x, qi);
}

void schedule_stage(Func state, int update, KeyBlockStage& s, const PrefillCpuSchedule& p,
                    const AttentionTiling& t, bool whole_blocks) {
  const int rows = p.tile_rows();
  const auto [block_level, level] = schedule_block_loop(state, update, s.loop, p);
  Var jo("jo"), ji("ji"), d_o("do"), di("di");

  schedule_cached_block(s.cached, block_level, p.key_block, p.lanes);
  schedule_key_rows(s.keys, block_level, p, t.d_qk);
  schedule_key_rows(s.values, block_level, p, t.d_v);
  schedule_pairs(s, block_level, p, t);
  for (Func f : s.diagonals) {
    // A whole number of vectors; one diagonal more than there are is no harm.
    f.compute_at(block_level)
        .bound_extent(block, 1)
        .bound(diagonal, 0, p.block_rows() + p.key_block)
        .vectorize(diagonal, p.lanes);
  }

  for (DenseTile& tile : s.dense) schedule_dense_tile(tile, block_level, p);

  s.block_out.compute_at(level).bound_extent(qi, rows).bound(d, 0, t.d_v);
  s.block_out.split(d, d_o, di, p.feature_group)
      .reorder(qi, di, d_o)
      .vectorize(qi, p.lanes)
      .unroll(qi)
      .unroll(di);
  s.weighted.compute_at(s.block_out, d_o).bound_extent(qi, rows).bound_extent(d, p.feature_group);
  s.weighted.vectorize(qi, p.lanes).unroll(qi).unroll(d);
  int additions = 0;
  for (const Halide::RDom& keys : {s.seen_value_keys, s.value_keys_in_front, s.value_keys}) {
    if (!keys.defined()) continue;
    s.weighted.update(additions++).reorder(qi, d, keys).vectorize(qi, p.lanes).unroll(qi).unroll(d);
  }

  // Scores of a whole block have a constant place each. A full block also computes all of them; a
  // partial one only those between the first and the last visible key.
  const auto bound_keys = [&](Func f, int keys) {
    if (whole_blocks) {
      f.bound(j, 0, keys);
    } else {
      f.bound_storage(j, keys);
    }
  };
  const auto schedule_rows = [&](Func f) {
    f.compute_at(level).bound_extent(qi, rows).vectorize(qi, p.lanes).unroll(qi);
  };
  std::vector<Func> all = {s.product, s.score, s.weight, s.sum, s.weighted, s.block_out};
  if (s.maximum.defined()) {
    all.push_back(s.maximum);
    schedule_rows(s.maximum);
    s.maximum.update().reorder(qi, s.max_keys).vectorize(qi, p.lanes).unroll(qi);
  }
  schedule_rows(s.sum);
  s.sum.update().reorder(qi, s.sum_keys).vectorize(qi, p.lanes).unroll(qi);
  bound_keys(s.score, p.key_block);
  for (Func f : {s.weight, s.carried, s.weight_pairs}) {
    if (!f.defined()) continue;
    f.reorder(qi, j);
    schedule_rows(f);
    bound_keys(f, f.name() == s.weight_pairs.name() ? p.key_block / 2 : p.key_block);
    all.push_back(f);
  }

  // Rounded up: in a partial block whole tiles of products are computed, past the last key on a
  // repeated row.
  s.score.compute_at(level).bound_extent(qi, rows).split(j, jo, ji, p.key_tile,
                                                         TailStrategy::RoundUp);
  s.score.reorder(qi, ji, jo).vectorize(qi, p.lanes).unroll(qi).unroll(ji);
  s.product.compute_at(s.score, jo).bound_extent(qi, rows).bound_extent(j, p.key_tile);
  for (Func f : {s.product, s.weighted}) f.store_in(Halide::MemoryType::Register);
  s.product.vectorize(qi, p.lanes).unroll(qi).unroll(j);
  s.product.update().reorder(qi, j, s.features).vectorize(qi, p.lanes).unroll(qi).unroll(j);

  // One block at a time, said where bounds inference cannot see it through a trimmed loop.
  for (Func f : all) f.bound_extent(block, 1);

  if (p.feature_unroll > 1) s.product.update().unroll(s.features, p.feature_unroll);
  // Only where the trip count is known; a trimmed loop would need a remainder inside.
  if (whole_blocks && p.key_unroll > 1) s.weighted.update().unroll(s.value_keys, p.key_unroll);
}

// For inspection, not for speed: a block of keys at a time.
void schedule_probabilities(PrefillPipeline& p, const PrefillCpuSchedule& s) {
  if (!p.probabilities.defined()) return;
  Var ko("ko"), ki("ki");
  p.probabilities.output_buffer().dim(0).set_min(0).set_stride(Halide::Expr());
  p.probabilities.output_buffer().dim(1).set_min(0);
  p.probabilities.split(k, ko, ki, s.key_block, TailStrategy::GuardWithIf)
      .reorder(ki, qi, ko)
      .never_partition_all();
  const Halide::LoopLevel level(p.probabilities, ko);
  schedule_key_rows(p.inspected_keys, level, s, p.tiling.d_qk);
  for (Func f : {p.inspected_product, p.inspected_weight}) {
    f.compute_at(level)
        .bound_extent(qi, s.block_rows())
        .bound(j, 0, s.key_block)
        .bound_extent(block, 1)
        .vectorize(qi, s.lanes);
  }
  p.inspected_product.update().reorder(qi, p.inspected_features.x, j, block).vectorize(qi, s.lanes);
}

// Whether the mask asks tables about keys: their entries are then looked through for every block of
// rows.
bool asks_tables_about_keys(const Expr& mask) {
  struct Find : Halide::Internal::IRGraphVisitor {
    using Halide::Internal::IRGraphVisitor::visit;
    void visit(const Halide::Internal::Call* op) override {
      if (std::string_view(op->name).starts_with(table_prefix)) {
        for (const Expr& argument : op->args)
          found = found || Halide::Internal::expr_uses_var(argument, "k");
      }
      Halide::Internal::IRGraphVisitor::visit(op);
    }
    bool found = false;
  } find;
  mask.accept(&find);
  return find.found;
}

// Features of a query that meet those of a key: all of them, or those of one slice.
int slice_of(const Variant& variant, int d_qk) { return d_qk / variant.slice_count(); }

void require_rule(bool holds, const char* name, int value, const std::string& rule) {
  if (!holds)
    throw std::invalid_argument(fmt::format("schedule parameter {} is {}: {}", name, value, rule));
}

}  // namespace

PrefillCpuSchedule default_prefill_schedule(const TargetRow& target, const Variant& variant,
                                            Element element, int d_qk, int d_v, CacheKind cache) {
  PrefillCpuSchedule s;
  s.lanes = target.vector_bytes / 4;
  s.key_block = 128;
  const bool masked = !Halide::Internal::is_const_one(variant.mask());
  // Work for each block of rows that its size does not change.
  const bool transforms = !variant.key_steps().empty() || !variant.value_steps().empty();
  const bool shared_work = (transforms && !is_cache(cache)) || is_quantised(cache) ||
                           asks_tables_about_keys(variant.mask());
  const bool by_lanes = multiplies_by_lanes(kernel_target(target));
  if (by_lanes) {
    // Sixteen accumulators, four features of eight keys in eight registers, two operands.
    s.row_vectors = 2;
    s.key_tile = 8;
    s.feature_group = largest_power_of_two(d_v, 8);
  } else if (target.vector_registers >= 32) {
    // Sixteen accumulators. Two row vectors take half the loads of one; where a mask has an edge,
    // fewer rows along it are worth more.
    s.row_vectors = masked && !shared_work && element == Element::F32 ? 1 : 2;
    s.key_tile = 16 / s.row_vectors;
    s.feature_group = largest_power_of_two(d_v, s.row_vectors == 1 ? 16 : 8);
  } else {
    // Sixteen registers: three row vectors and four keys are twelve accumulators, three operands
    // and one broadcast.
    s.row_vectors = 3;
    s.key_tile = 4;
    s.feature_group = largest_power_of_two(d_v, 4);
  }
  s.dot_pairs = element == Element::BF16 && !is_quantised(cache) && multiplies_bf16_pairs(target) &&
                slice_of(variant, d_qk) % 2 == 0;
  // What is done once for a block of keys is done for so many rows at once; along the edge of a
  // mask more rows waste more. Transforms are worth most, and packing of values alone least.
  if (shared_work) {
    s.row_tiles = 4;
  } else if (element != Element::F32) {
    s.row_tiles = !masked ? 4 : s.dot_pairs ? 1 : 2;
  }
  // Tiles of eight rows are small: as many rows as elsewhere take twice as many.
  if (by_lanes && s.row_tiles > 1) s.row_tiles *= 2;
  s.feature_unroll = largest_power_of_two(slice_of(variant, d_qk) / (s.dot_pairs ? 2 : 1), 4);
  s.key_unroll = 4;
  // Down to 8 rows; 16 of 16-bit types, whose rows are packed in squares of 16.
  if (!shared_work && s.lanes >= 8) {
    s.tail_bodies = s.lanes == 16 && element == Element::F32 && !masked ? 2 : 1;
  }
  return s;
}

void check(const PrefillCpuSchedule& s, const Variant& variant, Element element, int d_qk, int d_v,
           CacheKind cache) {
  const int width = s.dot_pairs ? 2 : 1, features = slice_of(variant, d_qk);
  require_rule(s.lanes == 4 || s.lanes == 8 || s.lanes == 16, "lanes", s.lanes,
               "4, 8 or 16 floats make a vector");
  require_rule(s.row_vectors >= 1 && s.row_vectors <= 8, "row_vectors", s.row_vectors, "1 to 8");
  require_rule(s.row_tiles >= 1 && s.row_tiles <= PrefillCpuSchedule::most_row_tiles, "row_tiles",
               s.row_tiles, fmt::format("1 to {}", PrefillCpuSchedule::most_row_tiles));
  require_rule(s.tail_bodies >= 0 && s.tail_bodies <= 2, "tail_bodies", s.tail_bodies, "0 to 2");
  require_rule(
      !s.dot_pairs || (element == Element::BF16 && !is_quantised(cache) && features % 2 == 0),
      "dot_pairs", s.dot_pairs, "1 is for bf16, keys of bf16 and an even number of features");
  require_rule(s.key_tile >= 1 && s.key_tile <= 16, "key_tile", s.key_tile, "1 to 16");
  require_rule(!is_cache(cache) || s.key_block % s.lanes == 0, "key_block", s.key_block,
               fmt::format("a multiple of lanes = {} with a cache", s.lanes));
  require_rule(s.feature_group >= 1 && s.feature_group <= 16 && d_v % s.feature_group == 0,
               "feature_group", s.feature_group,
               fmt::format("1 to 16 and a divisor of d_v = {}", d_v));
  require_rule(s.key_block >= s.key_tile && s.key_block <= 1024 && s.key_block % s.key_tile == 0,
               "key_block", s.key_block,
               fmt::format("a multiple of key_tile = {} up to 1024", s.key_tile));
  require_rule(
      s.feature_unroll >= 1 && s.feature_unroll <= 16 && features / width % s.feature_unroll == 0,
      "feature_unroll", s.feature_unroll,
      fmt::format("1 to 16 and a divisor of the {} steps over the features", features / width));
  require_rule(s.key_unroll >= 1 && s.key_unroll <= 16 && s.key_block % (width * s.key_unroll) == 0,
               "key_unroll", s.key_unroll,
               fmt::format("1 to 16 and a divisor of the {} steps over a block's keys",
                           s.key_block / width));
}

AttentionTiling tiling(const PrefillCpuSchedule& s, Element element, int d_qk, int d_v,
                       CacheKind cache) {
  AttentionTiling t;
  t.element = element;
  t.d_qk = d_qk;
  t.d_v = d_v;
  t.block_rows = t.item_rows = s.block_rows();
  t.key_block = s.key_block;
  t.feature_group = s.feature_group;
  t.dot_pairs = s.dot_pairs;
  t.cache = cache;
  t.vector_lanes = s.lanes;
  return t;
}

void schedule_prefill(PrefillPipeline& p, const PrefillCpuSchedule& s) {
  const int d_v = p.tiling.d_v;
  Func out = p.out;
  out.output_buffer().dim(0).set_bounds(0, d_v);
  out.output_buffer().dim(1).set_min(0);
  out.bound(d, 0, d_v).reorder(d, qi).never_partition_all();
  if (d_v % s.lanes == 0) {
    const Var row("row"), feature("feature");
    out.split(d, d, feature, s.lanes)
        .split(qi, qi, row, s.lanes, TailStrategy::GuardWithIf)
        .reorder(feature, row, d, qi)
        .vectorize(feature)
        .unroll(row);
  } else if (d_v >= s.lanes) {
    out.vectorize(d, s.lanes, TailStrategy::GuardWithIf);
  }
  for (Func f : {p.lse, p.row_max, p.row_sum}) {
    if (!f.defined()) continue;
    f.output_buffer().dim(0).set_min(0).set_stride(Halide::Expr());
    f.never_partition_all();
  }
  schedule_query_rows(p.queries, s, p.tiling.d_qk);
  schedule_query_rows(p.finished.output_rows, s, d_v);
  if (p.query.scaled.defined()) schedule_rows_as_lanes(p.query.scaled, s, p.tiling.d_qk);
  if (p.query.pairs.defined()) schedule_rows_as_lanes(p.query.pairs, s, p.tiling.d_qk / 2);
  for (EntryBounds& e : p.row_entries) e.both.compute_root();
  if (Func combined = p.finished.combined; combined.defined()) {
    bound_rows(combined, s);
    loop_over_rows(combined, {d}, s);
  }
  for (FinishedRows::Slice& slice : p.finished.slices) {
    bound_rows(slice.rows, s);
    loop_over_rows(slice.rows, {d}, s);
    if (slice.divisor.defined()) {
      bound_rows(slice.divisor, s);
      loop_over_rows(slice.divisor, {}, s);
    }
  }
  for (AttentionState& a : p.states) {
    const int slots =
        s.feature_group + (a.full.maximum.defined() || a.partial.maximum.defined() ? 2 : 1);
    bound_rows(a.state, s);
    a.state.bound(group, 0, d_v / s.feature_group).bound(slot, 0, slots).unroll(slot);
    loop_over_rows(a.state, {slot, group}, s);
    int update = 0;
    if (p.has_full) schedule_stage(a.state, update++, a.full, s, p.tiling, true);
    schedule_stage(a.state, update, a.partial, s, p.tiling, false);
    a.state.never_partition_all();
  }
  schedule_probabilities(p, s);
}

}  // namespace fovea
