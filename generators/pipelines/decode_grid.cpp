// decode_grid.cpp: declaration -> Funcs of the decode pass of devices. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/decode_grid.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "generators/pipelines/feature_runs.h"
#include "generators/pipelines/math.h"
#include "generators/pipelines/prefill.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

const Var number("number"), place("place"), item("item"), head("head"), sequence("sequence");

// Rows of the heads of one group, the heads of a row next to each other.
class GridPartContext : public TileContext {
 public:
  GridPartContext(const Variant& v, const AttentionTiling& t, const TileStatus& s,
                  const GridPartInputs& in, int chunk_blocks)
      : TileContext(v, t, s, in, {v.score_chain(), {}}),
        in_(in),
        first_row_(in.item / in.chunks * t.block_rows),
        first_block_(chunk_(in) * chunk_blocks),
        chunk_blocks_(chunk_blocks) {
    row_entries = bounds_of_rows(*this, last_row());
  }

  // Rows past the end repeat the last one.
  Expr last_row() const { return in_.heads_per_kv * inputs.q_len - 1 - first_row_; }
  Expr row_of_group(const Expr& row_of_tile) const {
    return first_row_ + Halide::min(row_of_tile, last_row());
  }
  Expr query(const Expr& feature, const Expr& row_of_tile) const {
    const RowPlace at = place(row_of_tile);
    return widen(in_.q(feature, at.row, at.head, sequence()), tiling.element);
  }

  RowPlace place(const Expr& row_of_tile) const override {
    const Expr row = row_of_group(row_of_tile), of_sequence = row / in_.heads_per_kv;
    return {inputs.kv_head * in_.heads_per_kv + row % in_.heads_per_kv, of_sequence,
            inputs.q_offset + of_sequence};
  }
  Expr sequence() const override { return in_.sequence; }

  Expr tile_condition(const Expr& condition, Rows, const Expr& k_block,
                      const Expr& key) const override {
    if (ir::is_const(condition)) return condition;
    BindDeclaration bind = binder();
    bind.bind(TileStatus::q_first().as<ir::Variable>()->name,
              inputs.q_offset + first_row_ / in_.heads_per_kv)
        .bind(TileStatus::q_offset().as<ir::Variable>()->name, inputs.q_offset)
        .bind(TileStatus::k_block().as<ir::Variable>()->name, k_block);
    if (key.defined()) bind.bind("k", key);
    bind_bounds(bind, status, row_entries);
    return bind.mutate(condition);
  }

  Expr first_block() const override { return first_block_; }
  Expr end_block() const override {
    return Halide::min(first_block_ + chunk_blocks_, TileContext::end_block());
  }

  std::vector<EntryBounds> row_entries;

 private:
  Expr chunk_(const GridPartInputs& in) const {
    const Expr chunk = in.item % in.chunks;
    if (!is_cache(tiling.cache)) return chunk;
    return chunk + Halide::select(chunk < in.chunks_before_gap, 0, in.gap_chunks);
  }

  const GridPartInputs& in_;
  Expr first_row_, first_block_;
  int chunk_blocks_;
};

// One row, known by its head and its number.
class GridFinishContext : public TileContext {
 public:
  GridFinishContext(const Variant& v, const AttentionTiling& t, const TileStatus& s,
                    const GridFinishInputs& in)
      : TileContext(v, t, s, in, {v.score_chain(), {}}), in_(in) {}

  RowPlace place(const Expr& row_of_tile) const override {
    const Expr row = in_.row + row_of_tile;
    return {in_.head, row, inputs.q_offset + row};
  }
  Expr kv_head() const override { return in_.head / in_.heads_per_kv; }
  Expr sequence() const override { return in_.sequence; }
  Expr tile_condition(const Expr&, Rows, const Expr&, const Expr&) const override {
    throw std::logic_error("the finish of a row looks at no keys");
  }

 private:
  const GridFinishInputs& in_;
};

GridPartInputs make_part_inputs(const Variant& variant, const AttentionTiling& tiling) {
  return {make_kernel_inputs(variant, tiling, 4), Halide::Param<int>("item"),
          Halide::Param<int>("heads_per_kv"),     Halide::Param<int>("chunks"),
          Halide::Param<int>("sequence"),         Halide::Param<int>("chunks_before_gap"),
          Halide::Param<int>("gap_chunks"),       Halide::Param<int64_t>("query_start"),
          Halide::Param<int64_t>("key_start"),    Halide::Param<int64_t>("value_start"),
          Halide::Param<int64_t>("records_start")};
}

GridFinishInputs make_finish_inputs(const Variant& variant, const AttentionTiling& tiling) {
  return {make_kernel_inputs(variant, tiling, 4),
          Halide::ImageParam(Halide::Float(32), 5, "records_in"),
          Halide::Param<int>("row"),
          Halide::Param<int>("head"),
          Halide::Param<int>("heads_per_kv"),
          Halide::Param<int>("chunks"),
          Halide::Param<int>("sequence"),
          Halide::Param<int64_t>("records_start"),
          make_output_starts(variant)};
}

// Numbers of all slices, one slice after the other.
Expr number_of_record(const GridPart& p, int numbers) {
  const int features = p.tiling.feature_group;
  Expr value;
  for (int i = static_cast<int>(p.states.size()) - 1; i >= 0; --i) {
    Func state = p.states[static_cast<size_t>(i)].state;
    const Expr at =
        p.states.size() == 1 ? Expr(number) : Halide::clamp(number - i * numbers, 0, numbers - 1);
    const Expr is_feature = at < p.tiling.d_v;
    const FeaturePlace place_in_group = place_of(p.tiling, Halide::min(at, p.tiling.d_v - 1));
    const Expr slot_of = Halide::select(is_feature, place_in_group.slot,
                                        Halide::clamp(features + at - p.tiling.d_v, 0,
                                                      features + numbers - 1 - p.tiling.d_v)),
               group_of = Halide::select(
                   is_feature, Halide::clamp(place_in_group.group, 0, p.tiling.d_v / features - 1),
                   0);
    const Expr mine = state(qi, slot_of, group_of);
    value = value.defined() ? Halide::select(number < (i + 1) * numbers, mine, value) : mine;
  }
  return value;
}

GridFinish::Merge merge_records(const GridFinishContext& c, const GridFinishInputs& in, int slice,
                                int part_rows, const std::string& suffix) {
  const int numbers = record_numbers(c.variant, c.tiling), d_v = c.tiling.d_v;
  const Expr row_of_group = in.row * in.heads_per_kv + in.head % in.heads_per_kv;
  const Expr first_item = row_of_group / part_rows * in.chunks;
  const auto record = [&](const Expr& of_slice, const Expr& chunk_index) {
    return in.records(slice * numbers + of_slice, row_of_group % part_rows,
                      first_item + chunk_index, c.kv_head(), c.sequence());
  };
  const Expr last = in.chunks - 1;
  GridFinish::Merge m;
  Expr start = 0.0f, weight = 1.0f;
  m.chunks = RDom(0, (in.chunks + (total_places - 1)) / total_places, "chunks" + suffix);
  const Expr of_place = m.chunks * total_places + place;
  const Expr at = Halide::min(of_place, last);
  if (c.softmax) {
    const Expr sink = c.variant.sink_logit();
    const Expr first = sink.defined() ? sink_maximum(c.binder_at(qi).mutate(sink)) : mask_score;
    m.max_chunks = RDom(0, (in.chunks + (max_places - 1)) / max_places, "max_chunks" + suffix);
    m.some_maximum = Func("some_maximum" + suffix);
    m.some_maximum(qi, place) = mask_score;
    m.some_maximum(qi, place) =
        Halide::max(m.some_maximum(qi, place),
                    record(d_v + 1, Halide::min(m.max_chunks * max_places + place, last)));
    m.max_places = RDom(0, max_places, "max_places" + suffix);
    m.maximum = Func("maximum" + suffix);
    m.maximum(qi) = first;
    m.maximum(qi) = Halide::max(m.maximum(qi), m.some_maximum(qi, m.max_places));
    if (sink.defined()) {
      start = Halide::select(
          number == d_v,
          sink_sum(c.binder_at(qi).mutate(sink)) * exp2_nonpositive(first - m.maximum(qi)), 0.0f);
    }
    weight = exp2_nonpositive(record(d_v + 1, at) - m.maximum(qi));
  }
  m.some_total = Func("some_total" + suffix);
  m.some_total(number, qi, place) = 0.0f;
  // Past the last chunk nothing is added: not 0 times a number, which might be NaN.
  m.some_total(number, qi, place) +=
      Halide::select(of_place <= last, record(number, at) * weight, 0.0f);
  m.places = RDom(0, total_places, "places" + suffix);
  m.total = Func("total" + suffix);
  m.total(number, qi) = start;
  m.total(number, qi) += m.some_total(number, qi, m.places);
  return m;
}

}  // namespace

int record_numbers(const Variant& variant, const AttentionTiling& tiling) {
  return tiling.d_v + (variant.normalizer() == Normalizer::Kind::Softmax ? 2 : 1);
}

std::vector<Halide::Argument> GridPartInputs::arguments() const {
  std::vector<Halide::Argument> all = {
      q,      k,     v,        q_start,  k_start, v_start, item,  kv_head,   heads_per_kv,
      chunks, batch, sequence, q_offset, q_len,   kv_len,  scale, wide_reads};
  if (is_cache(cache.kind)) all.insert(all.end(), {chunks_before_gap, gap_chunks});
  cache.append_to(all);
  append_parameters(parameters, all);
  all.push_back(records_start);
  return all;
}

std::vector<Halide::Argument> GridFinishInputs::arguments() const {
  std::vector<Halide::Argument> all = {records,      records_start, row,   head,
                                       heads_per_kv, chunks,        batch, sequence,
                                       q_offset,     q_len,         kv_len};
  append_parameters(parameters, all);
  for (const Halide::Param<int64_t>& start : output_starts) all.push_back(start);
  return all;
}

TileStatus grid_part_status(const Variant& variant, int block_rows, int key_block) {
  TileStatus s = tile_status(variant, block_rows, key_block);
  // By itself, or by what tables hold for the keys; rows have their bounds row by row.
  const auto of_head = [](const TileStatus::Bound& b) {
    return b.of_keys && ir::expr_uses_var(b.entry, "head");
  };
  const auto asks = [&](const Expr& e) {
    return ir::expr_uses_var(e, "head") ||
           std::any_of(s.bounds.begin(), s.bounds.end(), [&](const TileStatus::Bound& b) {
             return of_head(b) && (ir::expr_uses_var(e, b.low) || ir::expr_uses_var(e, b.high));
           });
  };
  if (asks(s.live) || asks(s.live_keys.first) || asks(s.live_keys.last)) {
    s.live = s.live_key = ir::const_true();
    s.live_keys = {s.k_block() * key_block, s.k_block() * key_block + (key_block - 1)};
  }
  if (asks(s.full) || asks(s.full_keys.first) || asks(s.full_keys.last)) {
    s.full = s.full_key = ir::const_false();
    s.full_keys = {0, -1};
  }
  std::erase_if(s.bounds, of_head);
  return s;
}

GridPart make_grid_part(const Variant& variant, const AttentionTiling& tiling,
                        const TileStatus& status, int chunk_blocks) {
  GridPart p;
  p.tiling = tiling;
  p.inputs = make_part_inputs(variant, tiling);
  const GridPartContext c(variant, tiling, status, p.inputs, chunk_blocks);
  p.row_entries = c.row_entries;
  p.query =
      make_query_rows(c, p.queries, [&](std::vector<Expr> at) { return c.query(at[1], at[0]); });
  build_states(p, c, state_without_keys(c));
  const int numbers = record_numbers(variant, tiling);
  p.records = Func("records");
  p.records(number, qi, item, head, sequence) =
      still_used(p, p.inputs.q_len < 0, number_of_record(p, numbers));
  return p;
}

GridFinish make_grid_finish(const Variant& variant, const AttentionTiling& tiling, int part_rows) {
  GridFinish p;
  p.tiling = tiling;
  p.inputs = make_finish_inputs(variant, tiling);
  const int slices = variant.slice_count(), numbers = record_numbers(variant, tiling);
  Halide::ImageParam& records = p.inputs.records;
  records.dim(0).set_bounds(0, numbers * slices).set_stride(1);
  records.dim(1).set_bounds(0, part_rows).set_stride(numbers * slices);
  records.dim(2).set_min(0).set_stride(numbers * slices * part_rows);
  for (int axis = 3; axis < 5; ++axis) records.dim(axis).set_min(0);
  const TileStatus no_status;
  const GridFinishContext c(variant, tiling, no_status, p.inputs);
  std::vector<RowSums> sums;
  for (int i = 0; i < slices; ++i) {
    p.merges.push_back(
        merge_records(c, p.inputs, i, part_rows, slices > 1 ? "_" + std::to_string(i) : ""));
    const GridFinish::Merge& m = p.merges.back();
    Func total = m.total;
    sums.push_back({[total](const Expr& feature) -> Expr { return total(feature, qi); },
                    total(tiling.d_v, qi), m.maximum.defined() ? Expr(m.maximum(qi)) : Expr()});
  }
  p.finished = finish_rows(c, sums);
  p.grid = grid_of_rows(p.finished, p.finished.out, p.inputs.row);
  return p;
}

}  // namespace fovea
