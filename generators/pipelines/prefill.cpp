// prefill.cpp: declaration -> Funcs of the prefill pass. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/prefill.h"

#include <string>
#include <utility>

#include "generators/pipelines/math.h"
#include "generators/pipelines/prefill_context.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Type;

class PrefillBuilder {
 public:
  PrefillBuilder(const Variant& variant, const AttentionTiling& tiling, const TileStatus& status)
      : p_(make_pipeline(variant, tiling)), c_(variant, tiling, status, p_.inputs) {}

  static PrefillPipeline make_pipeline(const Variant& variant, const AttentionTiling& tiling) {
    PrefillPipeline p;
    p.tiling = tiling;
    p.inputs = make_prefill_inputs(variant, tiling);
    return p;
  }

  PrefillPipeline build() {
    build_query_();
    p_.row_entries = c_.row_entries;
    build_states(p_, c_, start_());
    build_outputs_();
    return std::move(p_);
  }

 private:
  void build_query_() {
    const auto stored = [&](std::vector<Expr> at) { return c_.query(at[1], at[0]); };
    p_.query = make_query_rows(c_, p_.queries, stored);
  }

  Expr start_() const {
    if (!c_.softmax || !c_.variant.sink_logit().defined()) return state_without_keys(c_);
    const int features = p_.tiling.feature_group;
    const Expr sink = c_.binder_at(qi).mutate(c_.variant.sink_logit());
    return Halide::select(slot == features + 1, sink_maximum(sink), slot == features,
                          sink_sum(sink), 0.0f);
  }

  void build_outputs_() {
    FinishedRows& f = p_.finished;
    f = finish_rows(c_, p_.sums());
    if (p_.tiling.grid) {
      const Expr out = still_used(p_, p_.inputs.q_len < 0, f.out),
                 first_row = p_.inputs.q_block * p_.tiling.item_rows;
      p_.grid = grid_of_rows(f, out, first_row);
      return;
    }
    p_.out = Func("out");
    p_.out(d, qi) = f.out;
    const auto of_row = [](const char* name, const Expr& value) {
      Func output(name);
      output(qi) = value;
      return output;
    };
    if (f.lse.defined()) p_.lse = of_row("lse", f.lse);
    if (f.row_max.defined()) p_.row_max = of_row("row_max", f.row_max);
    if (f.row_sum.defined()) p_.row_sum = of_row("row_sum", f.row_sum);
    if (c_.variant.returns(Output::Probabilities)) build_probabilities_();
  }

  void build_probabilities_() {
    const int bk = p_.tiling.key_block, features = p_.tiling.feature_group;
    AttentionState& a = p_.states[0];
    const BlockRows rows = BlockRows::of_keys(c_, true, {});
    p_.inspected_keys = make_key_rows(c_, "keys_inspected", rows);
    // Multiplied as in the blocks, in the same order, so that a score meets its own maximum; and of
    // the rows that the state was made from: q itself may be gone, where the output takes its
    // place.
    const bool pairs = p_.tiling.dot_pairs;
    p_.inspected_features = RDom(0, p_.tiling.d_qk / (pairs ? 2 : 1), "features_inspected");
    const Expr key = block * bk + j;
    const RDom& f = p_.inspected_features;
    const bool transformed = !p_.inspected_keys.steps.empty();
    const auto key_entry = [&](const Expr& feature) -> Expr {
      if (transformed) return p_.inspected_keys.steps.back().row(feature, j, block);
      return pairs ? rows.stored(feature, j, block) : rows.number(feature, j, block);
    };
    p_.inspected_product = Func("product_inspected");
    p_.inspected_product(qi, j, block) = 0.0f;
    Expr product = p_.inspected_product(qi, j, block);
    if (pairs) {
      const Expr first = key_entry(2 * f), second = key_entry(2 * f + 1);
      p_.inspected_product(qi, j, block) +=
          dot_pair(p_.query.pairs(qi, f),
                   transformed ? pair_of_rounded(first, second) : pair_of_stored(first, second));
      product = product * c_.query_scale();
    } else {
      p_.inspected_product(qi, j, block) += p_.query.scaled(qi, f) * key_entry(f);
    }
    Expr score = score_at(c_, product, c_.binder_at(qi, key), c_.variant.score_chain());
    Expr weight;
    if (c_.softmax) {
      if (c_.natural_units) score = score * log2_e;
      weight = exp2_nonpositive(score - a.state(qi, features + 1, 0));
    } else {
      weight =
          keep_nan(score, c_.binder_at(qi, key).bind("score", score).mutate(c_.variant.weight()));
    }
    if (Func divisor = p_.finished.slices[0].divisor; divisor.defined())
      weight = Halide::strict_float(weight / divisor(qi));
    p_.inspected_weight = Func("weight_inspected");
    p_.inspected_weight(qi, j, block) = Halide::select(visible_at(c_, qi, key), weight, 0.0f);
    p_.probabilities = Func("probabilities");
    p_.probabilities(k, qi) = p_.inspected_weight(qi, k % bk, k / bk);
  }

  PrefillPipeline p_;
  PrefillContext c_;
};

}  // namespace

PrefillInputs make_prefill_inputs(const Variant& variant, const AttentionTiling& tiling) {
  PrefillInputs in{make_kernel_inputs(variant, tiling, tiling.grid ? 4 : 2),
                   Halide::Param<int>("q_block"),
                   Halide::Param<int>("head"),
                   Halide::Param<int>("heads_per_kv"),
                   Halide::Param<int>("sequence"),
                   Halide::Param<int64_t>("query_start"),
                   Halide::Param<int64_t>("key_start"),
                   Halide::Param<int64_t>("value_start"),
                   {}};
  if (!tiling.grid) return in;
  in.output_starts = make_output_starts(variant);
  return in;
}

std::vector<Halide::Param<int64_t>> make_output_starts(const Variant& variant) {
  std::vector<Halide::Param<int64_t>> starts;
  starts.emplace_back("out_start");
  for (const auto& [output, name] : {std::pair{Output::Lse, "lse_start"},
                                     {Output::RowMax, "row_max_start"},
                                     {Output::RowSum, "row_sum_start"}}) {
    if (variant.returns(output)) starts.emplace_back(name);
  }
  return starts;
}

std::vector<Halide::Argument> PrefillInputs::grid_arguments() const {
  std::vector<Halide::Argument> all = {
      q,     k,        v,        q_start, k_start, v_start, q_block,   head, heads_per_kv,
      batch, sequence, q_offset, q_len,   kv_len,  scale,   wide_reads};
  cache.append_to(all);
  append_parameters(parameters, all);
  for (const Halide::Param<int64_t>& start : output_starts) all.push_back(start);
  return all;
}

std::vector<Halide::Argument> PrefillInputs::arguments() const {
  if (q.dimensions() == 4) return grid_arguments();
  std::vector<Halide::Argument> all = {q,      k,     v,    q_block, q_offset, q_len,
                                       kv_len, batch, head, kv_head, scale};
  cache.append_to(all);
  append_parameters(parameters, all);
  return all;
}

std::vector<Halide::Func> PrefillPipeline::outputs() const {
  if (grid.defined()) return {grid};
  std::vector<Func> all = {out};
  for (const Func& f : {lse, row_max, row_sum, probabilities}) {
    if (f.defined()) all.push_back(f);
  }
  return all;
}

PrefillPipeline make_prefill(const Variant& variant, const AttentionTiling& tiling,
                             const TileStatus& status) {
  return PrefillBuilder(variant, tiling, status).build();
}

}  // namespace fovea
