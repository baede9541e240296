// prefill_gpu.cpp: blocks, threads and storage of the prefill pass on a GPU.
//
// Assumes: the pipeline is one of a grid (AttentionTiling::grid); every extent inside a block is a
// constant; conditions on whole blocks of keys are the same for all threads of a block, so that
// barriers may stand under them; rows past the last one repeat it and are not stored. State is kept
// in shared memory, because Halide 21 keeps nothing in registers from one loop over threads to the
// next. SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/prefill_gpu.h"

#include <numeric>

#include "generators/schedules/grid_threads.h"
#include "generators/schedules/shared_layout.h"
#include "generators/schedules/staged_rows.h"

namespace fovea {
namespace {

using namespace grid_vars;
using Halide::Func;
using Halide::LoopLevel;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;

const Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group"),
    diagonal("diagonal"), in_chunk("in_chunk"), row("row"), head("head"), sequence("sequence"),
    tile("tile");

// How a thread reads what is shared.
struct ThreadReads {
  bool vector_state;
  Halide::Expr may_be_wide;  // whether rows begin where a wide read may; undefined: never
};

ThreadReads reads(const KernelInputs& inputs, const PrefillGpuSchedule& s,
                  const GridLanguage& language) {
  if (!s.wide_reads) return {language.vector_state, {}};
  return {language.vector_state,
          language.unaligned_vectors ? Halide::Internal::const_true() : inputs.wide_reads != 0};
}

void share_key_rows(RowChain& chain, const LoopLevel& level, const PrefillGpuSchedule& s,
                    bool stage, int padding, const StoredRows& stored) {
  share_reductions(chain, level, j, s.key_block(), true, s);
  if (!stage) return;
  Func rows = chain.steps.back().row;
  rows.bound(d, 0, stored.size).bound(j, 0, s.key_block()).bound_extent(block, 1);
  if (padding > 0) {
    // Keys follow each other, so that a thread reads its tile of them at once.
    rows.reorder_storage(j, d, block).bound_storage(j, s.key_block() + padding);
    share_transposed(rows, level, j, std::gcd(s.key_tile, whole_vector), s.key_block(),
                     s.key_block() + padding, stored, s);
  } else {
    share_straight(rows, level, j, s.key_block(), stored, s);
  }
}

// A number for each pair of a row and a key, in tiles of them; level: a block of keys.
void share_tiles(Func f, const LoopLevel& level, const PrefillGpuSchedule& s, bool vectors) {
  const Var rows("rows"), keys("keys"), thread("thread");
  f.compute_at(level)
      .bound(qi, 0, s.block_rows())
      .bound(j, 0, s.key_block())
      .bound_storage(qi, score_rows(s))
      .split(qi, rows, qi, s.row_tile)
      .split(j, keys, j, s.key_tile)
      .fuse(rows, keys, thread)
      .split(thread, thread_y, thread_x, s.key_threads)
      .reorder(qi, j, thread_x, thread_y)
      .unroll(j)
      .gpu_threads(thread_x, thread_y);
  if (vectors) {
    f.vectorize(qi);
  } else {
    f.unroll(qi);
  }
}

// `home` of the following is the level of the tile. Halide gives a place in shared memory that is
// free to the next array, whatever their sizes: what is small is made there and not in the loop
// over blocks, where it would keep the places of tiles.

// Threads along x have groups of features, along y rows. Levels are told apart by their names
// alone.
struct StageLevels {
  LoopLevel block, thread;
};

StageLevels schedule_block_loop(Func state, const LoopLevel& home, int update, BlockLoop& loop,
                                const PrefillGpuSchedule& s, bool vector_state) {
  const std::string suffix = "_" + std::to_string(update);
  const Var rows("rows" + suffix), groups("groups" + suffix), group_thread("group_thread" + suffix);
  std::vector<VarOrRVar> order = {qi, groups, group_thread, rows, loop.blocks.x};
  if (loop.by_status) {
    order.emplace_back(loop.blocks.y);
    const LoopLevel level(state, loop.blocks.y);
    share(loop.status.hoist_storage(home), level, {in_chunk}, s);
    for (EntryBounds& e : loop.key_entries) {
      share(e.both.hoist_storage(home), level, {in_chunk}, s);
      deal_out(e.both.update(), {in_chunk}, {e.range.x}, s);
    }
  }
  Halide::Stage stage = state.update(update);
  stage.split(qi, rows, qi, s.row_tile)
      .split(group, groups, group_thread, s.key_threads, TailStrategy::GuardWithIf)
      .reorder(order)
      .gpu_threads(group_thread, rows)
      .never_partition_all();
  if (vector_state) {
    stage.vectorize(qi);
  } else {
    stage.unroll(qi);
  }
  return {{state, loop.blocks.x}, {state, groups}};
}

void schedule_stage(Func state, const LoopLevel& home, int update, KeyBlockStage& s,
                    const PrefillGpuSchedule& p, const AttentionTiling& t, int slices,
                    bool whole_blocks, const ThreadReads& reads) {
  const bool vector_state = reads.vector_state;
  const auto [level, of_thread] = schedule_block_loop(state, home, update, s.loop, p, vector_state);
  if (Func places = s.cached.places; places.defined()) {
    places.bound(j, 0, p.key_block()).bound_extent(block, 1).hoist_storage(home);
    share(places, level, {j}, p);
  }
  const int element_bytes = stored_type(t.element, t.cache).bytes();
  share_key_rows(s.keys, level, p, p.stage_keys, key_padding(p),
                 {t.d_qk, element_bytes, reads.may_be_wide});
  share_key_rows(s.values, level, p, p.stage_values, 0, {t.d_v, element_bytes, reads.may_be_wide});
  for (Func f : s.diagonals) {
    f.bound(diagonal, 0, p.block_rows() + p.key_block()).bound_extent(block, 1).hoist_storage(home);
    share(f, level, {diagonal}, p);
  }

  // Products: a tile of a thread in registers.
  share_tiles(s.score, level, p, false);
  s.product.compute_at(s.score, thread_x).bound_extent(qi, p.row_tile).bound_extent(j, p.key_tile);
  s.product.unroll(qi).unroll(j);
  s.product.update().reorder(qi, j, s.features.x).unroll(qi).unroll(j);
  // Steps of the loop between two branches.
  const int features = t.d_qk / slices;
  if (const int steps = largest_power_of_two(features, 4); steps > 1)
    s.product.update().unroll(s.features.x, steps);

  // Of a row: one thread, from key to key.
  if (s.maximum.defined()) share_row_numbers(s.maximum, level, home, p);
  share_row_numbers(s.sum, level, home, p);
  for (Func f : {s.weight, s.carried}) {
    if (f.defined()) share_tiles(f, level, p, vector_state);
  }

  // Weighted values: added up in registers, then to the state.
  s.weighted.compute_at(of_thread).bound_extent(qi, p.row_tile).bound_extent(d, p.feature_group);
  // Rows apart from each other: as vectors the assembler keeps them in neighbouring registers, and
  // moves them about in the loop.
  s.weighted.reorder_storage(d, qi, block).unroll(qi).unroll(d);
  s.weighted.update().reorder(qi, d, s.value_keys.x).unroll(qi).unroll(d);
  // Only where the trip count is known.
  if (whole_blocks && p.key_block() % 2 == 0) s.weighted.update().unroll(s.value_keys.x, 2);

  for (Func f : {s.product, s.score, s.maximum, s.weight, s.sum, s.carried, s.weighted}) {
    if (f.defined()) f.bound_extent(block, 1);
  }
}

}  // namespace

void schedule_prefill(PrefillPipeline& p, const PrefillGpuSchedule& s,
                      const GridLanguage& language) {
  const int d_v = p.tiling.d_v;
  Func out = p.grid;
  set_grid_bounds(out, d_v);
  out.bound(d, 0, d_v)
      .split(row, tile, row, s.block_rows(), TailStrategy::GuardWithIf)
      .reorder(d, row, tile, head, sequence)
      .gpu_blocks(tile, head, sequence);
  deal_out(out, {d, row}, {}, s);
  out.never_partition_all();

  const LoopLevel level(out, tile);
  schedule_grid_tile(p, p.inputs, level, s, language);
  share_reductions(p.finished.output_rows, level, qi, s.block_rows(), false, s);
}

void schedule_grid_tile(AttentionTile& p, const KernelInputs& inputs, const LoopLevel& level,
                        const PrefillGpuSchedule& s, const GridLanguage& language) {
  const ThreadReads of_thread = reads(inputs, s, language);
  const int d_qk = p.tiling.d_qk, d_v = p.tiling.d_v;
  share_reductions(p.queries, level, qi, s.block_rows(), false, s);
  p.query.scaled.bound(qi, 0, s.block_rows()).bound(d, 0, d_qk).bound_storage(qi, query_rows(s));
  share_transposed(p.query.scaled, level, qi, std::gcd(s.block_rows(), whole_vector),
                   s.block_rows(), query_rows(s),
                   {d_qk, stored_type(p.tiling.element).bytes(), of_thread.may_be_wide}, s);
  for (EntryBounds& e : p.row_entries) {
    e.entries.bound(qi, 0, s.block_rows());
    share(e.entries, level, {qi}, s);
    e.both.bound(block, 0, 1).align_storage(block, whole_vector);
    share(e.both, level, {block}, s);
    deal_out(e.both.update(), {block}, {e.range.x}, s);
  }
  const auto slices = static_cast<int>(p.states.size());
  for (AttentionState& a : p.states) {
    const int slots =
        s.feature_group + (a.full.maximum.defined() || a.partial.maximum.defined() ? 2 : 1);
    a.state.bound(qi, 0, s.block_rows())
        .bound(group, 0, d_v / s.feature_group)
        .bound(slot, 0, slots)
        .reorder_storage(qi, group, slot)
        .bound_storage(qi, state_rows(s));
    share(a.state, level, {group, qi, slot}, s);
    int update = 0;
    if (p.has_full)
      schedule_stage(a.state, level, update++, a.full, s, p.tiling, slices, true, of_thread);
    schedule_stage(a.state, level, update, a.partial, s, p.tiling, slices, false, of_thread);
    a.state.never_partition_all();
  }
}

}  // namespace fovea
