// decode.cpp: declaration -> Funcs of the decode pass. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/decode.h"

#include <map>
#include <string>
#include <utility>

#include "generators/pipelines/math.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

// Rows of the heads of one group, the heads of a row next to each other.
class DecodeContext : public TileContext {
 public:
  DecodeContext(const Variant& v, const AttentionTiling& t, const TileStatus& s,
                const DecodeInputs& in)
      : TileContext(v, t, s, in, {v.score_chain(), {}}),
        heads_(in.heads),
        first_row_(in.first_row),
        block_begin_(in.block_begin),
        block_end_(in.block_end) {}

  RowPlace place(const Expr& row_of_tile) const override {
    return place_in_group(Halide::min(first_row_ + row_of_tile, rows() - 1));
  }

  Expr rows() const { return heads_ * inputs.q_len; }

  RowPlace place_in_group(const Expr& row) const {
    const Expr of_sequence = row / heads_;
    return {inputs.kv_head * heads_ + row % heads_, of_sequence, inputs.q_offset + of_sequence};
  }

  // Of the status of one row and one block, at that row.
  Expr row_condition(const Expr& condition, const RowPlace& at, const Expr& k_block,
                     const Expr& key = Expr()) const {
    BindDeclaration bind = binder();
    bind.bind("head", at.head).bind("q", at.q).bind("row", at.row);
    std::map<std::string, Expr> entries;
    for (const TileStatus::Bound& b : status.bounds) {
      if (!b.of_keys) entries[b.low] = entries[b.high] = bind.mutate(b.entry);
    }
    bind.bind(TileStatus::q_first().as<ir::Variable>()->name, at.q)
        .bind(TileStatus::q_offset().as<ir::Variable>()->name, inputs.q_offset)
        .bind(TileStatus::k_block().as<ir::Variable>()->name, k_block);
    if (key.defined()) bind.bind("k", key);
    for (const auto& [name, entry] : entries) bind.bind(name, Halide::cast<int32_t>(entry));
    return bind.mutate(condition);
  }

  Expr tile_condition(const Expr& condition, Rows rows, const Expr& k_block,
                      const Expr& key) const override {
    if (ir::is_const(condition)) return condition;
    Expr all;
    for (int i = 0; i < tiling.block_rows; ++i) {
      const Expr one = row_condition(condition, place(i), k_block, key);
      all = !all.defined() ? one : rows == Rows::Every ? all && one : all || one;
    }
    return all;
  }

  Expr first_block() const override { return block_begin_; }
  Expr end_block() const override { return block_end_; }

 private:
  Expr heads_, first_row_, block_begin_, block_end_;
};

class PartBuilder {
 public:
  PartBuilder(const Variant& variant, const AttentionTiling& tiling, const TileStatus& status)
      : p_(make_part(variant, tiling)), c_(variant, tiling, status, p_.inputs) {}

  static DecodePart make_part(const Variant& variant, const AttentionTiling& tiling) {
    DecodePart p;
    p.variant = &variant;
    p.tiling = tiling;
    p.inputs = make_inputs(variant, tiling);
    return p;
  }

  static DecodeInputs make_inputs(const Variant& variant, const AttentionTiling& tiling) {
    return {make_kernel_inputs(variant, tiling, 3), Halide::Param<int>("heads"),
            Halide::Param<int>("first_row"), Halide::Param<int>("block_begin"),
            Halide::Param<int>("block_end")};
  }

  DecodePart build() {
    const DecodeInputs& in = p_.inputs;
    const auto stored = [&](std::vector<Expr> at) {
      const Expr row = Halide::min(in.first_row + at[0], c_.rows() - 1);
      return widen(in.q(at[1], row % in.heads, row / in.heads));
    };
    p_.query = make_query_rows(c_, p_.queries, stored);
    p_.has_full = !ir::is_const_zero(c_.status.full);
    const int slices = c_.variant.slice_count();
    for (int i = 0; i < slices; ++i) {
      build_state_(i, slices > 1 ? "_" + std::to_string(i) : "");
    }
    build_records_();
    return std::move(p_);
  }

 private:
  void build_state_(int slice, const std::string& suffix) {
    DecodeState a;
    a.state = Func("state" + suffix);
    const int vectors = p_.tiling.feature_group;
    a.state(lane, slot, group, qi) =
        c_.softmax ? Halide::select(slot == vectors + 1, mask_score, 0.0f) : Expr(0.0f);
    if (p_.has_full) {
      a.full = make_key_block_stage(c_, "full" + suffix, p_.query, slice, false);
      merge_(a.state, a.full);
    }
    a.partial = make_key_block_stage(c_, "partial" + suffix, p_.query, slice, true);
    merge_(a.state, a.partial);
    p_.states.push_back(std::move(a));
  }

  // All slots of a group in one update; see the prefill pass.
  void merge_(Func& state, const KeyBlockStage& s) {
    const int vectors = p_.tiling.feature_group, lanes = p_.tiling.value_lanes;
    const Expr block = s.loop.block();
    Expr keep = 1.0f, add = 1.0f, new_max;
    if (c_.softmax) {
      const Expr old_max = state(lane, vectors + 1, group, qi), block_max = s.maximum(qi, block);
      new_max = Halide::max(old_max, block_max);
      keep = exp2_nonpositive(old_max - new_max);
      add = exp2_nonpositive(block_max - new_max);
    }
    std::vector<Expr> slots, values;
    for (int i = 0; i < vectors; ++i) {
      slots.emplace_back(i);
      values.push_back(state(lane, i, group, qi) * keep +
                       s.block_out(qi, (group * vectors + i) * lanes + lane, block) * add);
    }
    slots.emplace_back(vectors);
    values.push_back(state(lane, vectors, group, qi) * keep + s.sum(qi, block) * add);
    if (c_.softmax) {
      slots.emplace_back(vectors + 1);
      values.push_back(new_max);
    }
    state(lane, Halide::scatter(slots), group, qi) = Halide::gather(values);
  }

  void build_records_() {
    const int slots = record_slots(c_.variant, p_.tiling);
    Expr value;
    for (int i = static_cast<int>(p_.states.size()) - 1; i >= 0; --i) {
      Func state = p_.states[static_cast<size_t>(i)].state;
      const Expr at = Halide::clamp(slot - i * slots, 0, slots - 1);
      const Expr mine = p_.states.size() == 1 ? Expr(state(lane, slot, group, qi))
                                              : Expr(state(lane, at, group, qi));
      value = value.defined() ? Halide::select(slot < (i + 1) * slots, mine, value) : mine;
    }
    p_.records = Func("records");
    p_.records(lane, slot, group, qi) = value;
  }

  DecodePart p_;
  DecodeContext c_;
};

// The minimum, in a form that Halide does not look through. It leaves out iterations that would
// store what is there already, and takes `what is there` from before the loop: of a running minimum
// over rising numbers the last one remains.
Expr smaller_of(const Expr& a, const Expr& b) {
  return b ^ ((a ^ b) & Halide::select(a < b, -1, 0));
}

// One row, known by its head and its number.
class FinishContext : public TileContext {
 public:
  FinishContext(const Variant& v, const AttentionTiling& t, const TileStatus& s,
                const FinishInputs& in)
      : TileContext(v, t, s, in, {v.score_chain(), {}}), head_(in.head), row_(in.row) {}

  RowPlace place(const Expr& row_of_tile) const override {
    const Expr row = row_ + row_of_tile;
    return {head_, row, inputs.q_offset + row};
  }
  Expr tile_condition(const Expr&, Rows, const Expr&, const Expr&) const override {
    throw std::logic_error("the finish of a row looks at no keys");
  }

 private:
  Expr head_, row_;
};

DecodeFinish::Merge merge_records(const FinishContext& c, const FinishInputs& in, int slice,
                                  const std::string& suffix) {
  const int vectors = c.tiling.feature_group, slots = record_slots(c.variant, c.tiling);
  const Expr count = in.records.dim(3).extent();
  const auto record = [&](const Expr& lane_index, const Expr& slot_index, const Expr& group_index,
                          const Expr& chunk_index) {
    return in.records(lane_index, slice * slots + slot_index, group_index, chunk_index);
  };
  DecodeFinish::Merge m;
  m.total = Func("total" + suffix);
  m.chunks = RDom(0, count, "chunks" + suffix);
  Expr start = 0.0f, weight = 1.0f;
  if (c.softmax) {
    const Expr sink = c.variant.sink_logit();
    const Expr first = sink.defined() ? sink_maximum(c.binder_at(qi).mutate(sink)) : mask_score;
    m.max_chunks = RDom(0, count, "max_chunks" + suffix);
    m.maximum = Func("maximum" + suffix);
    m.maximum(qi) = first;
    m.maximum(qi) = Halide::max(m.maximum(qi), record(0, vectors + 1, 0, m.max_chunks));
    if (sink.defined()) {
      start = Halide::select(
          slot == vectors,
          sink_sum(c.binder_at(qi).mutate(sink)) * exp2_nonpositive(first - m.maximum(qi)), 0.0f);
    }
    weight = exp2_nonpositive(record(0, vectors + 1, 0, m.chunks) - m.maximum(qi));
  }
  m.total(lane, slot, group, qi) = start;
  m.total(lane, slot, group, qi) += record(lane, slot, group, m.chunks) * weight;
  return m;
}

}  // namespace

int record_slots(const Variant& variant, const AttentionTiling& tiling) {
  return tiling.feature_group + (variant.normalizer() == Normalizer::Kind::Softmax ? 2 : 1);
}

int record_groups(const AttentionTiling& t) { return t.d_v / (t.value_lanes * t.feature_group); }

std::vector<Halide::Argument> DecodeInputs::arguments() const {
  std::vector<Halide::Argument> all = {q,           k,         v,        heads, first_row,
                                       block_begin, block_end, q_offset, q_len, kv_len,
                                       batch,       kv_head,   scale};
  cache.append_to(all);
  append_parameters(parameters, all);
  return all;
}

DecodePart make_decode_part(const Variant& variant, const AttentionTiling& tiling,
                            const TileStatus& status) {
  return PartBuilder(variant, tiling, status).build();
}

std::vector<Halide::Argument> FinishInputs::arguments() const {
  std::vector<Halide::Argument> all = {records, head, row, q_offset, q_len, kv_len, batch, kv_head};
  append_parameters(parameters, all);
  return all;
}

std::vector<Halide::Func> DecodeFinish::outputs() const {
  std::vector<Func> all = {out};
  for (const Func& f : {lse, row_max, row_sum}) {
    if (f.defined()) all.push_back(f);
  }
  return all;
}

DecodeFinish make_decode_finish(const Variant& variant, const AttentionTiling& tiling) {
  DecodeFinish p;
  p.tiling = tiling;
  p.inputs = {make_kernel_inputs(variant, tiling, 2),
              Halide::ImageParam(Halide::Float(32), 4, "records_in"), Halide::Param<int>("head"),
              Halide::Param<int>("row")};
  const int slices = variant.slice_count();
  const int extents[] = {tiling.value_lanes, record_slots(variant, tiling) * slices,
                         record_groups(tiling)};
  int stride = 1;
  for (int i = 0; i < 3; ++i) {
    p.inputs.records.dim(i).set_bounds(0, extents[i]).set_stride(stride);
    stride *= extents[i];
  }
  p.inputs.records.dim(3).set_min(0);
  const TileStatus no_status;
  const FinishContext c(variant, tiling, no_status, p.inputs);
  std::vector<RowSums> sums;
  for (int i = 0; i < slices; ++i) {
    p.merges.push_back(merge_records(c, p.inputs, i, slices > 1 ? "_" + std::to_string(i) : ""));
    Func total = p.merges.back().total, maximum = p.merges.back().maximum;
    const int lanes = tiling.value_lanes, vectors = tiling.feature_group;
    sums.push_back({[=](const Expr& feature) mutable -> Expr {
                      const Expr vector = feature / lanes;
                      return total(feature % lanes, vector % vectors, vector / vectors, qi);
                    },
                    total(0, vectors, 0, qi), c.softmax ? Expr(maximum(qi)) : Expr()});
  }
  p.finished = finish_rows(c, sums);
  const auto output = [](const char* name, const std::vector<Halide::Var>& at, const Expr& value) {
    Func f(name);
    f(at) = value;
    return f;
  };
  p.out = output("out", {d, qi}, p.finished.out);
  if (p.finished.lse.defined()) p.lse = output("lse", {qi}, p.finished.lse);
  if (p.finished.row_max.defined()) p.row_max = output("row_max", {qi}, p.finished.row_max);
  if (p.finished.row_sum.defined()) p.row_sum = output("row_sum", {qi}, p.finished.row_sum);
  return p;
}

std::vector<Halide::Argument> DecodeRange::arguments() const {
  std::vector<Halide::Argument> all = {inputs.heads,  inputs.q_offset, inputs.q_len,
                                       inputs.kv_len, inputs.batch,    inputs.kv_head};
  append_parameters(inputs.parameters, all);
  return all;
}

DecodeRange make_decode_range(const Variant& variant, const AttentionTiling& tiling,
                              const TileStatus& status) {
  DecodeRange p;
  p.inputs = PartBuilder::make_inputs(variant, tiling);
  const DecodeContext c(variant, tiling, status, p.inputs);
  const Expr count = (p.inputs.kv_len + (tiling.key_block - 1)) / tiling.key_block;
  bool of_keys = false;
  for (const TileStatus::Bound& b : status.bounds) {
    of_keys = of_keys || (b.of_keys && (ir::expr_uses_var(status.live, b.low) ||
                                        ir::expr_uses_var(status.live, b.high)));
  }
  const Halide::Var i("i");
  p.range = Func("range");
  // What tables hold for the keys is looked at by the parts themselves.
  if (of_keys || ir::is_const(status.live)) {
    p.range(i) = Halide::select(i == 0, 0, count);
    return p;
  }
  const auto asks_for_head = [](const Expr& e) {
    return ir::expr_uses_var(e, "head") || ir::expr_uses_var(e, "kv_head");
  };
  p.of_head = asks_for_head(status.live);
  for (const TileStatus::Bound& b : status.bounds) p.of_head = p.of_head || asks_for_head(b.entry);
  p.first = Func("first");
  p.end = Func("end");
  p.blocks = RDom(0, count, 0, c.rows(), "blocks");
  p.blocks.where(c.row_condition(status.live, c.place_in_group(p.blocks.y), p.blocks.x));
  p.first() = count;
  p.first() = smaller_of(p.first(), p.blocks.x);
  p.end() = 0;
  p.end() = -smaller_of(-p.end(), -(p.blocks.x + 1));
  p.range(i) = Halide::select(i == 0, Halide::min(p.first(), p.end()), p.end());
  return p;
}

}  // namespace fovea
