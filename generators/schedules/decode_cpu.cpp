// decode_cpu.cpp: loops, vectors and storage of the decode pass on a CPU.
//
// Assumes: one call is one tile of rows and one chunk of keys (a part), one row (its finish), or
// one KV head (its range of blocks), and runs on one thread.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/decode_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "generators/schedules/cached_block_cpu.h"

namespace fovea {
namespace {

using namespace tile_vars;
using Halide::Func;
using Halide::LoopLevel;
using Halide::RDom;
using Halide::RVar;
using Halide::Var;

int largest_divisor_up_to(int extent, int limit) {
  int divisor = std::min(extent, limit);
  while (extent % divisor != 0) --divisor;
  return divisor;
}

// With rows as lanes: keys whose sums are in registers at once.
constexpr int row_lane_keys = 8;
// With lanes of several rows: features of each.
constexpr int quarter_features = 4;

struct PartScheduler {
  const DecodeCpuSchedule& s;
  const AttentionTiling& t;
  const int rows, keys;  // of one vector of (row, key) pairs
  const Halide::Expr one_key_scale, one_value_scale;

  PartScheduler(const DecodeCpuSchedule& schedule, const DecodePart& part)
      : s(schedule),
        t(part.tiling),
        rows(t.block_rows),
        keys(t.pair_keys),
        one_key_scale(part.inputs.cache.has_one_key_scale()),
        one_value_scale(part.inputs.cache.has_one_value_scale()) {}

  // Rows of the tile and as many keys side by side make one vector. Halide does not see through a
  // fused index of eight rows, and would store every number apart.
  void vectorize_pairs(Halide::Stage stage, const Var& key) const {
    constexpr int most_fused = 4;
    const Var fused("fused");
    if (rows == 1) {
      stage.vectorize(key);
    } else if (rows <= most_fused) {
      stage.fuse(qi, key, fused).vectorize(fused);
    } else {
      stage.vectorize(qi).vectorize(key);
    }
  }

  // Features of rows that lie in memory so.
  void features_as_lanes(Func row, int size) const {
    row.bound(d, 0, size).vectorize(d, largest_power_of_two(size, s.lanes));
  }

  void schedule_query(RowChain& chain, const QueryRows& query) const {
    for (RowStep& step : chain.steps) {
      for (RowStep::Reduction& r : step.reductions) {
        r.f.compute_root().bound_extent(qi, rows);
        reduce_features(r);
      }
      step.row.compute_root().bound_extent(qi, rows).reorder_storage(d, qi).reorder(d, qi);
      features_as_lanes(step.row, t.d_qk);
    }
    Func row = t.dot_pairs ? query.pairs : query.scaled;
    row.compute_root().bound_extent(qi, rows).reorder(d, qi);
    if (!t.row_lanes) row.reorder_storage(d, qi);
    features_as_lanes(row, t.d_qk / (t.dot_pairs ? 2 : 1));
    if (!query.steps.defined()) return;
    Func steps = query.steps;
    steps.compute_root().bound(lane, 0, t.feature_lanes).bound_extent(qi, rows).vectorize(lane);
  }

  void reduce_features(RowStep::Reduction& r) const {
    if (!r.is_sum) return;
    const int size = r.features.x.extent().as<Halide::Internal::IntImm>()
                         ? static_cast<int>(*Halide::Internal::as_const_int(r.features.x.extent()))
                         : 1;
    const int lanes = largest_power_of_two(size, s.lanes);
    if (lanes > 1) r.f.update().atomic().vectorize(r.features.x, lanes);
  }

  // Rows that are widened and not transformed stay inline: each vector is used at once by all rows.
  void schedule_key_rows(RowChain& chain, const LoopLevel& level, int size,
                         bool transformed) const {
    if (!transformed) return;
    for (RowStep& step : chain.steps) {
      for (RowStep::Reduction& r : step.reductions) {
        r.f.compute_at(level).bound_extent(block, 1).bound(j, 0, s.key_block);
        reduce_features(r);
      }
      step.row.compute_at(level).bound_extent(block, 1).bound(j, 0, s.key_block);
      features_as_lanes(step.row, size);
    }
  }

  // One number a row from all keys of a block: first the keys of each of `lanes` places, then the
  // places in their order. The order of a sum does not depend on the rows of the tile.
  void reduce_keys(Func f, const RDom& range, const LoopLevel& level) const {
    RVar outer("outer"), inner("inner");
    const Var place("place"), po("po"), pi("pi");
    f.compute_at(level).bound_extent(qi, rows).bound_extent(block, 1);
    f.update().split(range.x, outer, inner, s.lanes);
    Func of_places = f.update().rfactor(inner, place);
    of_places.compute_at(level)
        .bound_extent(qi, rows)
        .bound_extent(block, 1)
        .bound(place, 0, s.lanes)
        .reorder_storage(qi, place, block);
    of_places.split(place, po, pi, keys).reorder(qi, pi, po, block);
    vectorize_pairs(of_places, pi);
    of_places.update().split(place, po, pi, keys).reorder(qi, pi, po, outer, block);
    vectorize_pairs(of_places.update(), pi);
    of_places.unroll(po).update().unroll(po);
    f.update().reorder(qi, inner).unroll(inner);
    if (rows > 1) f.vectorize(qi).update().vectorize(qi);
  }

  // One accumulator for each key, whose numbers enter as scalars that are broadcast.
  void schedule_products_of_rows(KeyBlockStage& st, const LoopLevel& level) const {
    const Var jo("jo"), jv("jv"), ji("ji");
    const int tile = std::min(s.key_block, row_lane_keys);
    st.score.compute_at(level).bound_extent(qi, rows).bound(j, 0, s.key_block);
    st.score.split(j, jo, ji, keys).split(jo, jo, jv, tile / keys).reorder(qi, ji, jv, jo);
    vectorize_pairs(st.score, ji);
    st.score.unroll(jv);
    const int halves = static_cast<int>(*Halide::Internal::as_const_int(st.lanes.x.extent()));
    st.lane_sums.compute_at(st.score, jo)
        .store_in(Halide::MemoryType::Register)
        .bound_extent(qi, rows)
        .bound(lane, 0, halves)
        .bound_extent(j, tile)
        .bound_extent(block, 1)
        .reorder_storage(qi, j, lane, block)
        .vectorize(qi)
        .unroll(lane)
        .unroll(j);
    const int steps = static_cast<int>(*Halide::Internal::as_const_int(st.features.x.extent()));
    st.lane_sums.update()
        .reorder(qi, lane, j, st.features.x)
        .vectorize(qi)
        .unroll(lane)
        .unroll(j)
        .unroll(st.features.x, largest_divisor_up_to(steps, s.feature_unroll));
  }

  // Vectors of some features of some rows, by the same features of a key. A vector of pairs has few
  // of them, so several run at once: as many sums as hide the time that an addition takes.
  void schedule_products_of_some_rows(KeyBlockStage& st, const LoopLevel& level,
                                      bool transformed) const {
    const Var jo("jo"), jv("jv"), ji("ji"), pk("pk"), pr("pr");
    const int sums_of_vector = t.feature_lanes * rows * keys / s.lanes;
    const int vectors =
        largest_divisor_up_to(s.key_block / keys, std::max(1, s.value_vectors / sums_of_vector));
    st.score.compute_at(level).bound_extent(qi, rows).bound(j, 0, s.key_block);
    st.score.split(j, jo, ji, keys).split(jo, jo, jv, vectors).reorder(qi, ji, jv, jo);
    vectorize_pairs(st.score, ji);
    st.score.unroll(jv);
    st.pair_sums.compute_at(st.score, jv)
        .bound(pair, 0, rows * keys)
        .bound_extent(vector, 1)
        .vectorize(pair);
    Halide::Stage across = st.pair_sums.update();
    across.reorder(st.lanes.x, pair).atomic().vectorize(st.lanes.x).vectorize(pair);
    const LoopLevel level_of_tile(st.score, jo);
    if (!transformed && !st.keys.steps.empty()) {
      // A key is widened once, and then read a few features at a time.
      Func row = st.keys.steps.back().row;
      row.compute_at(level_of_tile).bound_extent(block, 1).bound_extent(j, vectors * keys);
      features_as_lanes(row, t.d_qk);
      row.unroll(d);
    }
    const auto across_rows = [&](Halide::Stage stage) {
      stage.split(pair, pk, pr, t.product_rows).vectorize(lane).vectorize(pr).unroll(pk);
      stage.unroll(vector);
    };
    Halide::Stage sums = st.lane_sums.update();
    st.lane_sums.compute_at(level_of_tile)
        .store_in(Halide::MemoryType::Register)
        .bound(lane, 0, t.feature_lanes)
        .bound(pair, 0, rows * keys)
        .bound_extent(vector, vectors);
    across_rows(st.lane_sums);
    sums.reorder(lane, pair, vector, st.features.x);
    across_rows(sums);
    const int steps = static_cast<int>(*Halide::Internal::as_const_int(st.features.x.extent()));
    const int unroll = largest_divisor_up_to(steps, s.feature_unroll);
    if (unroll > 1) sums.unroll(st.features.x, unroll);
  }

  void schedule_scores(KeyBlockStage& st, const LoopLevel& level) const {
    const Var jo("jo"), ji("ji");
    st.score.compute_at(level).bound_extent(qi, rows).bound(j, 0, s.key_block);
    st.score.split(j, jo, ji, keys).reorder(qi, ji, jo);
    vectorize_pairs(st.score, ji);
    const LoopLevel level_of_vector(st.score, jo);
    st.pair_sums.compute_at(level_of_vector)
        .bound(pair, 0, rows * keys)
        .bound_extent(vector, 1)
        .vectorize(pair);
    Halide::Stage across = st.pair_sums.update();
    across.reorder(st.lanes.x, pair).atomic();
    if (t.feature_lanes > 1) across.vectorize(st.lanes.x);
    across.vectorize(pair);
    Halide::Stage sums = st.lane_sums.update();
    st.lane_sums.compute_at(level_of_vector)
        .store_in(Halide::MemoryType::Register)
        .bound(lane, 0, t.feature_lanes)
        .bound(pair, 0, rows * keys)
        .bound_extent(vector, 1)
        .vectorize(lane)
        .unroll(pair);
    sums.reorder(lane, pair, st.features.x).vectorize(lane).unroll(pair);
    const int steps = static_cast<int>(*Halide::Internal::as_const_int(st.features.x.extent()));
    const int unroll = largest_divisor_up_to(steps, s.feature_unroll);
    if (unroll > 1) sums.unroll(st.features.x, unroll);
    if (t.scales_apart) sums.specialize(one_key_scale);
  }

  void schedule_weights(Func f, const LoopLevel& level, int count) const {
    const Var jo("jo"), ji("ji");
    f.compute_at(level).bound_extent(qi, rows).bound(j, 0, count).bound_extent(block, 1);
    f.split(j, jo, ji, keys).reorder(qi, ji, jo);
    vectorize_pairs(f, ji);
  }

  void schedule_values(KeyBlockStage& st, const LoopLevel& level) const {
    const Var d_o("do"), di("di");
    const int vectors =
        largest_divisor_up_to(t.d_v / t.value_lanes, std::max(1, s.value_vectors / rows));
    const int features = vectors * t.value_lanes;
    st.block_out.compute_at(level).bound_extent(qi, rows).bound(d, 0, t.d_v).reorder_storage(d, qi);
    st.block_out.split(d, d_o, d, features)
        .split(d, di, d, t.value_lanes)
        .reorder(d, di, qi, d_o)
        .vectorize(d)
        .unroll(di)
        .unroll(qi);
    st.weighted.compute_at(st.block_out, d_o)
        .store_in(Halide::MemoryType::Register)
        .bound_extent(qi, rows)
        .bound_extent(d, features)
        .reorder_storage(d, qi)
        .reorder(d, qi)
        .vectorize(d, t.value_lanes)
        .unroll(d)
        .unroll(qi);
    RVar outer("outer"), inner("inner");
    st.weighted.update()
        .split(st.value_keys.x, outer, inner, keys)
        .split(d, di, d, t.value_lanes)
        .reorder(d, di, qi, inner, outer)
        .vectorize(d)
        .unroll(di)
        .unroll(qi)
        .unroll(inner);
    if (is_quantised(t.cache)) st.weighted.update().specialize(one_value_scale);
  }

  void schedule_stage(Func state, int update, KeyBlockStage& st, const Variant& variant) const {
    const RVar blocks = st.loop.blocks.x;
    Halide::Stage stage = state.update(update);
    std::vector<Halide::VarOrRVar> order = {lane, group, qi, blocks};
    if (st.loop.by_status) {
      const RVar chunk = st.loop.blocks.y;
      order.emplace_back(chunk);
      st.loop.status.compute_at(state, chunk);
      for (EntryBounds& e : st.loop.key_entries) {
        e.both.compute_at(state, chunk);
        e.both.update().atomic().vectorize(e.range.x, s.lanes);
      }
    }
    stage.reorder(order).vectorize(lane).never_partition_all();
    const LoopLevel level(state, blocks);
    schedule_cached_block(st.cached, level, s.key_block, s.lanes);
    const bool cached = is_cache(t.cache);
    const bool transformed_keys = !cached && !variant.key_steps().empty();
    schedule_key_rows(st.keys, level, t.d_qk, transformed_keys);
    schedule_key_rows(st.values, level, t.d_v, !cached && !variant.value_steps().empty());
    if (t.row_lanes) {
      schedule_products_of_rows(st, level);
    } else if (t.product_rows > 1) {
      schedule_products_of_some_rows(st, level, transformed_keys);
    } else {
      schedule_scores(st, level);
    }
    if (st.maximum.defined()) reduce_keys(st.maximum, st.max_keys, level);
    for (Func f : {st.weight, st.carried}) {
      if (f.defined()) schedule_weights(f, level, s.key_block);
    }
    if (st.weight_pairs.defined()) schedule_weights(st.weight_pairs, level, s.key_block / 2);
    reduce_keys(st.sum, st.sum_keys, level);
    schedule_values(st, level);
    // One block at a time, said where bounds inference cannot see it.
    for (Func f : {st.pair_sums, st.lane_sums, st.score, st.weighted, st.block_out}) {
      if (f.defined()) f.bound_extent(block, 1);
    }
  }
};

// Pairs of features of a key are multiplied as they lie in memory.
bool has_key_pairs(const Variant& variant, Element element, int d_qk, CacheKind cache) {
  return element == Element::BF16 && !is_quantised(cache) &&
         (is_cache(cache) || variant.key_steps().empty()) && d_qk / variant.slice_count() % 2 == 0;
}

}  // namespace

std::vector<int> DecodeCpuSchedule::tile_rows() const {
  std::vector<int> rows = {1};
  if (wide_rows > 1) rows.push_back(wide_rows);
  if (widest_rows > 0) rows.push_back(widest_rows);
  return rows;
}

DecodeCpuSchedule default_decode_schedule(const TargetRow& target, const Variant& variant,
                                          Element element, int d_qk, int d_v, CacheKind cache) {
  DecodeCpuSchedule s;
  s.lanes = target.vector_bytes / 4;
  // On Arm nothing could be measured.
  const bool is_x86 = std::string_view(target.architecture) == "x86";
  s.wide_rows = 4;
  const bool reads_f32 = is_x86 && s.lanes >= 8 && element == Element::F32 && !is_quantised(cache);
  // What is asked for ahead of pages that lie anywhere must not be far ahead.
  const bool in_order = !is_cache(cache);
  const int row_bytes = std::min(stored_size(d_qk, cache), stored_size(d_v, cache)) *
                        stored_type(element, cache).bytes();
  // Corrections of the state and sums over places cost the same for a block of any length, but the
  // last one is computed whole, however few keys it has. Few bits make rows short, and blocks long.
  // Streams of keys begin in pages of memory of their own: nearer to each other, they were slower
  // than a single one (docs/schedules.md).
  constexpr int stream_bytes = 4096, most_streams = 8, most_bytes = 64 * 1024;
  s.key_block = reads_f32 && in_order && 256 * row_bytes <= most_bytes ? 256 : 128;
  while (is_quantised(cache) && s.key_block < 256 &&
         s.key_block * row_bytes < most_streams * stream_bytes) {
    s.key_block *= 2;
  }
  while (s.key_streams < most_streams &&
         s.key_block / (2 * s.key_streams) * row_bytes >= stream_bytes) {
    s.key_streams *= 2;
  }
  // A chunk is read once for every tile of rows: it stays in the second-level cache.
  const int chunk_bytes = (reads_f32 ? 512 : 256) * 1024;
  const int key_bytes =
      (stored_size(d_qk, cache) + stored_size(d_v, cache)) * stored_type(element, cache).bytes();
  s.chunk_blocks = std::clamp(chunk_bytes / (key_bytes * s.key_block), 1, 8);
  s.prefetch_blocks = is_x86 ? 1 : 0;
  s.product_features = is_x86 ? quarter_features : s.lanes;
  s.value_vectors = target.vector_registers >= 32 ? 16 : 8;
  // Sixteen registers are too few for more, and Arm's loops then multiply less evenly.
  s.feature_unroll = is_x86 && target.vector_registers >= 32 ? 4 : 2;
  s.dot_pairs = multiplies_bf16_pairs(target) && has_key_pairs(variant, element, d_qk, cache);
  // With 16 registers the last bits of a row would depend on whether its tile has four rows or
  // eight.
  s.widest_rows = is_x86 && target.vector_registers >= 32 ? 8 : 0;
  return s;
}

void check(const DecodeCpuSchedule& s) {
  const auto require = [](bool holds, const char* name, int value, const std::string& rule) {
    if (!holds)
      throw std::invalid_argument(
          fmt::format("schedule parameter {} is {}: {}", name, value, rule));
  };
  require(s.lanes == 4 || s.lanes == 8 || s.lanes == 16, "lanes", s.lanes,
          "4, 8 or 16 floats make a vector");
  require(s.wide_rows >= 1 && s.wide_rows <= s.lanes && (s.wide_rows & (s.wide_rows - 1)) == 0,
          "wide_rows", s.wide_rows, fmt::format("a power of two up to lanes = {}", s.lanes));
  require(s.widest_rows == 0 || (s.widest_rows > s.wide_rows && s.widest_rows <= s.lanes &&
                                 (s.widest_rows & (s.widest_rows - 1)) == 0),
          "widest_rows", s.widest_rows,
          fmt::format("0 or a power of two over wide_rows = {} up to lanes = {}", s.wide_rows,
                      s.lanes));
  require(s.key_block >= s.lanes && s.key_block <= 1024 && s.key_block % s.lanes == 0, "key_block",
          s.key_block, fmt::format("a multiple of lanes = {} up to 1024", s.lanes));
  require(s.chunk_blocks >= 1 && s.chunk_blocks <= 1024, "chunk_blocks", s.chunk_blocks,
          "1 to 1024");
  require(s.key_streams >= 1 && s.key_block % s.key_streams == 0, "key_streams", s.key_streams,
          fmt::format("a divisor of key_block = {}", s.key_block));
  require(s.prefetch_blocks >= 0 && s.prefetch_blocks <= 8, "prefetch_blocks", s.prefetch_blocks,
          "0 to 8");
  require(s.product_features == s.lanes || s.product_features == quarter_features,
          "product_features", s.product_features,
          fmt::format("{} or lanes = {}", quarter_features, s.lanes));
  require(s.value_vectors >= 1 && s.value_vectors <= 32, "value_vectors", s.value_vectors,
          "1 to 32");
  require(s.feature_unroll >= 1 && s.feature_unroll <= 16, "feature_unroll", s.feature_unroll,
          "1 to 16");
}

AttentionTiling tiling(const DecodeCpuSchedule& s, const Variant& variant, Element element,
                       int d_qk, int d_v, int rows, CacheKind cache) {
  // Groups keep the number of slots, which are unrolled, within bounds.
  constexpr int most_vectors = 16;
  if (s.dot_pairs && !has_key_pairs(variant, element, d_qk, cache))
    throw std::invalid_argument(
        "schedule parameter dot_pairs is 1: 1 is for bf16, keys of bf16 that the kernel does not "
        "transform and an even number of features");
  AttentionTiling t;
  t.element = element;
  t.d_qk = d_qk;
  t.d_v = d_v;
  t.dot_pairs = s.dot_pairs;
  t.block_rows = rows;
  t.key_block = s.key_block;
  t.feature_lanes =
      largest_power_of_two(d_qk / variant.slice_count() / (s.dot_pairs ? 2 : 1), s.lanes);
  const int product_rows = s.lanes / s.product_features;
  if (product_rows > 1 && rows % product_rows == 0 && !s.dot_pairs &&
      t.feature_lanes >= quarter_features) {
    t.product_rows = product_rows;
    t.feature_lanes = quarter_features;
  }
  t.value_lanes = largest_power_of_two(d_v, s.lanes);
  t.feature_group = largest_divisor_up_to(d_v / t.value_lanes, most_vectors);
  t.row_lanes = s.dot_pairs && rows == s.widest_rows;
  t.pair_keys = s.lanes / rows;
  t.key_streams = s.key_streams;
  t.scales_apart = is_quantised(cache) && rows == 1;
  t.prefetch_blocks = s.prefetch_blocks;
  t.cache = cache;
  t.vector_lanes = s.lanes;
  return t;
}

void schedule_decode_part(DecodePart& p, const DecodeCpuSchedule& s) {
  const AttentionTiling& t = p.tiling;
  const PartScheduler part(s, p);
  const Variant& variant = *p.variant;
  const int slots = record_slots(variant, t), all_slots = slots * static_cast<int>(p.states.size());
  const int extents[] = {t.value_lanes, all_slots, record_groups(t), t.block_rows};
  const Var vars[] = {lane, slot, group, qi};
  int stride = 1;
  for (int i = 0; i < 4; ++i) {
    p.records.output_buffer().dim(i).set_bounds(0, extents[i]).set_stride(stride);
    p.records.bound(vars[i], 0, extents[i]);
    stride *= extents[i];
  }
  p.records.vectorize(lane);
  if (p.states.size() > 1) p.records.unroll(slot);
  part.schedule_query(p.queries, p.query);
  for (DecodeState& a : p.states) {
    a.state.compute_root()
        .bound(lane, 0, t.value_lanes)
        .bound(slot, 0, slots)
        .bound(group, 0, record_groups(t))
        .bound(qi, 0, t.block_rows)
        .vectorize(lane)
        .unroll(slot)
        .never_partition_all();
    int update = 0;
    if (p.has_full) part.schedule_stage(a.state, update++, a.full, variant);
    part.schedule_stage(a.state, update, a.partial, variant);
  }
}

void schedule_decode_finish(DecodeFinish& p) {
  const AttentionTiling& t = p.tiling;
  for (DecodeFinish::Merge& m : p.merges) {
    if (m.maximum.defined()) m.maximum.compute_root().bound(qi, 0, 1);
    m.total.compute_root()
        .bound(lane, 0, t.value_lanes)
        .bound(group, 0, record_groups(t))
        .bound(qi, 0, 1)
        .vectorize(lane);
    m.total.update().reorder(lane, slot, group, qi, m.chunks.x).vectorize(lane);
  }
  const auto rows = [&](Func f) {
    if (!f.defined()) return;
    f.compute_root().bound(qi, 0, 1).bound(d, 0, t.d_v).reorder_storage(d, qi);
    f.vectorize(d, t.value_lanes);
  };
  for (FinishedRows::Slice& slice : p.finished.slices) {
    rows(slice.rows);
    if (slice.divisor.defined()) slice.divisor.compute_root().bound(qi, 0, 1);
  }
  rows(p.finished.combined);
  for (RowStep& step : p.finished.output_rows.steps) {
    for (RowStep::Reduction& r : step.reductions) r.f.compute_root().bound(qi, 0, 1);
    rows(step.row);
  }
  p.out.output_buffer().dim(0).set_bounds(0, t.d_v);
  p.out.output_buffer().dim(1).set_bounds(0, 1);
  p.out.bound(d, 0, t.d_v).bound(qi, 0, 1).vectorize(d, t.value_lanes);
  for (Func f : {p.lse, p.row_max, p.row_sum}) {
    if (f.defined()) f.output_buffer().dim(0).set_bounds(0, 1).set_stride(Halide::Expr());
    if (f.defined()) f.bound(qi, 0, 1);
  }
}

void schedule_decode_range(DecodeRange& p) {
  p.range.output_buffer().dim(0).set_bounds(0, 2);
  p.range.bound(p.range.args()[0], 0, 2).unroll(p.range.args()[0]);
  for (Func f : {p.first, p.end}) {
    if (f.defined()) f.compute_root();
  }
}

std::vector<BlockLoopName> block_loops(const DecodePart& part) {
  std::vector<BlockLoopName> names;
  for (const DecodeState& a : part.states) {
    int update = 0;
    const auto add = [&](const KeyBlockStage& stage) {
      names.push_back(
          {fmt::format("{}.s{}.{}", a.state.name(), ++update, stage.loop.blocks.x.name()),
           a.state.name(), stage.loop.by_status});
    };
    if (part.has_full) add(a.full);
    add(a.partial);
  }
  return names;
}

}  // namespace fovea
