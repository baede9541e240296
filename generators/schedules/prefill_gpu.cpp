// prefill_gpu.cpp: blocks, threads and storage of the prefill pass on a GPU.
//
// Assumes: the pipeline is one of a grid (AttentionTiling::grid); every extent inside a block is a
// constant; conditions on whole blocks of keys are the same for all threads of a block, so that
// barriers may stand under them; rows past the last one repeat it and are not stored. State is kept
// in shared memory, because Halide 21 keeps nothing in registers from one loop over threads to the
// next. SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/prefill_gpu.h"

#include <fmt/format.h>
#include <fovea/dsl/row.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string_view>

namespace fovea {
namespace {

using Halide::Func;
using Halide::LoopLevel;
using Halide::TailStrategy;
using Halide::Var;
using Halide::VarOrRVar;

const Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group"),
    diagonal("diagonal"), in_chunk("in_chunk"), chunk("chunk"), row("row"), head("head"),
    sequence("sequence"), tile("tile"), turn("turn"), thread_x("thread_x"), thread_y("thread_y");

// Numbers after the keys of a feature: neighbouring threads write neighbouring features, which an
// odd distance puts into different banks; where tiles of keys are read at once they stay whole.
int key_padding(const PrefillGpuSchedule& s) {
  if (s.key_tile % 4 == 0) return 4;
  if (s.key_tile % 2 == 0) return 2;
  return s.key_block() % 2 == 0 ? 1 : 0;
}

// Numbers of the widest instruction: what follows an array of so many begins where tiles of it can
// be read at once.
constexpr int whole_vector = 4;
constexpr int banks = 32, sector_bytes = 32;

// How many different words threads that are served together want of one bank at worst, where each
// reads or writes `width` words at once, from first_word(thread) on.
size_t bank_ways(int width, const std::function<int(int)>& first_word) {
  std::array<std::set<int>, banks> words;
  for (int thread = 0; thread < banks / width; ++thread) {
    const int first = first_word(thread);
    for (int word = first; word < first + width; ++word)
      words[static_cast<size_t>(word % banks)].insert(word);
  }
  size_t most = 0;
  for (const std::set<int>& of_bank : words) most = std::max(most, of_bank.size());
  return most;
}

// The fewest numbers, from `extent` on, that may lie between neighbours of the next dimension for
// threads to meet in no bank, or in as few as can be; first_word(thread, numbers).
int padded(int extent, int width, const std::function<int(int, int)>& first_word) {
  const auto ways = [&](int numbers) {
    return bank_ways(width, [&](int thread) { return first_word(thread, numbers); });
  };
  int best = extent;
  for (int numbers = extent; numbers < extent + banks; numbers += width) {
    if (ways(numbers) < ways(best)) best = numbers;
  }
  return best;
}

// Rows of a tile that are read at once.
int row_width(const PrefillGpuSchedule& s) { return std::gcd(s.row_tile, whole_vector); }

// Rows of the state with what follows them: neighbouring threads have neighbouring groups of
// features and the same rows.
int state_rows(const PrefillGpuSchedule& s) {
  return padded(s.block_rows(), row_width(s), [&](int thread, int rows) {
    return thread / s.key_threads * s.row_tile + thread % s.key_threads * rows;
  });
}

// The same of scores and weights, which are dealt out in tiles, those of the same keys first.
int score_rows(const PrefillGpuSchedule& s) {
  return padded(s.block_rows(), row_width(s), [&](int thread, int rows) {
    return thread % s.row_threads * s.row_tile + thread / s.row_threads * s.key_tile * rows;
  });
}

// The same of queries, which are stored across their features. Where fewer rows fill no banks, the
// memory would cost more than threads that meet in pairs, once for each block of rows.
int query_rows(const PrefillGpuSchedule& s) {
  return s.block_rows() + (s.block_rows() % banks == 0 ? whole_vector : 0);
}

// Neighbouring features of a thread: from shared memory it reads as many at once as the widest
// instruction has, so that neighbouring threads read what fills the banks; from where values lie
// one, so that they read neighbours.
int feature_run(const PrefillGpuSchedule& s) {
  return s.stage_values ? std::gcd(s.feature_group, whole_vector) : 1;
}

int largest_divisor(int extent, std::initializer_list<int> candidates) {
  for (const int c : candidates) {
    if (extent % c == 0) return c;
  }
  return 1;
}

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

// A number of each row, reduced over keys: one thread finds it, in a register, and stores it once.
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

namespace {

// How a thread reads what is shared.
struct ThreadReads {
  bool vector_state;
  Halide::Expr may_be_wide;  // whether wide_read_bytes may be read at once; undefined: never
};

ThreadReads reads(const KernelInputs& inputs, const PrefillGpuSchedule& s,
                  const GridLanguage& language) {
  if (!s.wide_reads) return {language.vector_state, {}};
  return {language.vector_state,
          language.unaligned_vectors ? Halide::Internal::const_true() : inputs.wide_reads != 0};
}

// Rows in memory of the device.
struct StoredRows {
  int size, element_bytes;
  Halide::Expr may_be_wide;

  // Neighbouring features of a wide read; 1: there is none.
  int read_together() const {
    const int features = wide_read_bytes / element_bytes;
    return may_be_wide.defined() && size % features == 0 ? features : 1;
  }
};

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
  int best = largest_power_of_two(all, sector_bytes / wide_read_bytes);
  for (int reads = best; reads <= banks && all % reads == 0; reads *= 2) {
    if (ways(reads) < ways(best)) best = reads;
  }
  return best;
}

// Rows that are read along their features, as they lie, and stored across them, `pitch` words from
// one to the next, `together` of them read at once: threads that are served together take few
// features of some rows, which with the right padding lie in different banks, but no fewer than
// share a sector.
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

// The same, stored as they are read. A wide read of narrow elements makes several vectors, and
// threads that store the first of theirs skip the others: threads that are served together take as
// many rows as a read has vectors, and what follows a row shifts the next one's banks.
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
  if (const int steps = largest_divisor(features, {4, 2, 1}); steps > 1)
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

// Calls in a declaration that a predicate is true of.
template <typename Predicate>
int count_calls(const Halide::Expr& e, const Predicate& counts) {
  struct Count : Halide::Internal::IRGraphVisitor {
    using Halide::Internal::IRGraphVisitor::visit;
    explicit Count(const Predicate& p) : is_counted(p) {}
    void visit(const Halide::Internal::Call* op) override {
      if (is_counted(op)) ++number;
      Halide::Internal::IRGraphVisitor::visit(op);
    }
    const Predicate& is_counted;
    int number = 0;
  } count(counts);
  e.accept(&count);
  return count.number;
}

// Bytes of the small arrays that variants differ by. Those that are short-lived may take the places
// of larger ones, which then get places of their own.
int small_arrays(const Variant& variant, int value_row_bytes) {
  // Bounds of what tables hold for keys are kept for some blocks.
  const int reads = count_calls(variant.mask(), [](const Halide::Internal::Call* op) {
    return std::string_view(op->name).starts_with(table_prefix) && op->type.is_int_or_uint() &&
           Halide::Internal::expr_uses_var(op, "k");
  });
  int reductions = 0;
  for (const Halide::Expr& step : variant.value_steps()) {
    reductions += count_calls(step, [](const Halide::Internal::Call* op) {
      return op->name == row_calls::sum || op->name == row_calls::largest;
    });
  }
  const size_t steps = variant.query_steps().size() + variant.key_steps().size() +
                       variant.value_steps().size() + variant.output_steps().size();
  return 512 * reads + 256 * static_cast<int>(steps) + (reductions > 0 ? value_row_bytes : 0);
}

void require_rule(bool holds, const char* name, int value, const std::string& rule) {
  if (!holds)
    throw std::invalid_argument(fmt::format("schedule parameter {} is {}: {}", name, value, rule));
}

}  // namespace

PrefillGpuSchedule first_that_fits(std::span<const GridTileShape> shapes, const Variant& variant,
                                   int d_qk, int d_v, CacheKind cache, int most_bytes) {
  PrefillGpuSchedule s;
  s.feature_group = largest_divisor(d_v, {8, 4, 2, 1});
  const auto bytes = [&] {
    const int rows = score_rows(s), keys = s.key_block();
    const int state =
        state_rows(s) * (d_v / s.feature_group) * (s.feature_group + 2) * variant.slice_count();
    const int key_rows = s.stage_keys ? d_qk * (keys + key_padding(s)) : 0;
    const int value_rows = s.stage_values ? (d_v + whole_vector) * keys : 0;
    // Scores, weights and values take places that keys or scores had before them, whole and partly
    // visible blocks the same ones; weights may take that of terms of the distance instead, and
    // make it as large. The rest: sums and flags.
    const int terms = variant.score_steps().empty() ? 0 : rows * keys;
    const int numbers = query_rows(s) * d_qk + state +
                        2 * variant.slice_count() * std::max({key_rows, value_rows, rows * keys}) +
                        terms + 8 * (rows + keys);
    // Slots and pages, of both kinds of blocks.
    const int places = is_cache(cache) ? 2 * 8 * keys * variant.slice_count() : 0;
    return 4 * numbers + places + 1024 + small_arrays(variant, 4 * value_rows);
  };
  for (const GridTileShape& shape : shapes) {
    s.row_threads = shape.row_threads;
    s.row_tile = shape.row_tile;
    s.key_threads = shape.key_threads;
    s.key_tile = shape.key_tile;
    s.stage_keys = shape.stage_keys;
    s.stage_values = shape.stage_values;
    if (bytes() <= most_bytes) break;
  }
  return s;
}

PrefillGpuSchedule default_prefill_gpu_schedule(const Variant& variant, int d_qk, int d_v,
                                                CacheKind cache) {
  constexpr GridTileShape shapes[] = {{8, 4, 8, 4, true, true},    {8, 4, 8, 3, true, true},
                                      {4, 4, 8, 4, true, true},    {4, 4, 8, 2, true, true},
                                      {4, 4, 8, 2, true, false},   {4, 4, 8, 2, false, false},
                                      {4, 2, 8, 2, false, false},  {4, 1, 8, 2, false, false},
                                      {2, 1, 16, 1, false, false}, {1, 1, 32, 1, false, false}};
  return first_that_fits(shapes, variant, d_qk, d_v, cache, shared_memory_bytes);
}

void check(const PrefillGpuSchedule& s, int d_v) {
  require_rule(s.row_threads >= 1 && s.row_threads <= 64, "row_threads", s.row_threads, "1 to 64");
  require_rule(s.key_threads >= 1 && s.key_threads * s.row_threads <= 1024, "key_threads",
               s.key_threads, "1 and more, with row_threads at most 1024 threads");
  require_rule(s.row_tile >= 1 && s.row_tile <= 16, "row_tile", s.row_tile, "1 to 16");
  require_rule(s.key_tile >= 1 && s.key_tile <= 16, "key_tile", s.key_tile, "1 to 16");
  require_rule(s.feature_group >= 1 && s.feature_group <= 16 && d_v % s.feature_group == 0,
               "feature_group", s.feature_group,
               fmt::format("1 to 16 and a divisor of d_v = {}", d_v));
}

AttentionTiling tiling(const PrefillGpuSchedule& s, Element element, int d_qk, int d_v,
                       CacheKind cache) {
  AttentionTiling t;
  t.element = element;
  t.d_qk = d_qk;
  t.d_v = d_v;
  t.block_rows = t.item_rows = s.block_rows();
  t.key_block = s.key_block();
  t.feature_group = s.feature_group;
  t.cache = cache;
  t.grid = true;
  t.feature_run = feature_run(s);
  // What a thread reads at once of numbers in few bits shares a scale and a shift.
  if (is_quantised(cache) && s.wide_reads) t.vector_lanes = wide_read_bytes;
  return t;
}

void set_grid_bounds(const Func& grid, int d_v) {
  // All outputs have the extents of the first one.
  const std::vector<Halide::OutputImageParam> buffers = grid.output_buffers();
  for (int axis = 0; axis < 4; ++axis) Halide::OutputImageParam(buffers[0]).dim(axis).set_min(0);
  Halide::OutputImageParam(buffers[0]).dim(0).set_extent(d_v);
  for (size_t i = 1; i < buffers.size(); ++i)
    Halide::OutputImageParam(buffers[i]).dim(0).set_stride(0);
}

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
