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
using namespace prefill_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

constexpr int32_t infinity_bits = 0x7f800000;
constexpr int32_t minus_infinity_bits = static_cast<int32_t>(0xff800000u);
constexpr int32_t nan_bits = 0x7fc00000;

class PrefillBuilder {
 public:
  PrefillBuilder(const Variant& variant, const PrefillTiling& tiling, const TileStatus& status)
      : c_(variant, tiling, status, make_prefill_inputs(variant, tiling)) {
    p_.tiling = tiling;
    p_.inputs = c_.inputs;
  }

  PrefillPipeline build() {
    build_query_();
    p_.row_entries = make_row_entries(c_);
    p_.has_full = !ir::is_const_zero(c_.status.full);
    const int slices = c_.variant.slice_count();
    for (int i = 0; i < slices; ++i) {
      build_state_(i, slices > 1 ? "_" + std::to_string(i) : "");
    }
    build_rows_();
    build_extra_outputs_();
    return std::move(p_);
  }

 private:
  void build_query_() {
    const PrefillInputs& in = p_.inputs;
    const auto stored = [&](std::vector<Expr> at) {
      return widen(in.q(at[1], Halide::min(at[0], in.q.dim(1).extent() - 1)));
    };
    const RowLayout layout{{qi, d}, 1, p_.tiling.d_qk};
    p_.queries =
        make_row_chain("queries", c_.variant.query_steps(), layout, c_.binder_at(qi), stored);
    const auto row = [&](const Expr& feature) {
      return p_.queries.steps.empty() ? stored({qi, feature})
                                      : Expr(p_.queries.steps.back().row(qi, feature));
    };
    if (p_.tiling.dot_pairs) {
      p_.query.pairs = Func("query_pairs");
      p_.query.pairs(qi, d) = pair_of_rounded(row(2 * d), row(2 * d + 1));
    } else {
      p_.query.scaled = Func("query");
      p_.query.scaled(qi, d) = row(d) * c_.query_scale();
    }
  }

  // A sink is a key that was seen before all others and had no value.
  Expr first_maximum_(const Expr& sink) const {
    const Expr none = Halide::reinterpret<int32_t>(sink) == minus_infinity_bits;
    return Halide::select(none, mask_score, sink * log2_e);
  }
  Expr first_sum_(const Expr& sink) const {
    const Expr bits = Halide::reinterpret<int32_t>(sink);
    // The sum carries what the maximum may lose.
    return Halide::reinterpret<float>(Halide::select(bits == minus_infinity_bits, 0,
                                                     (bits & 0x7fffffff) >= infinity_bits, nan_bits,
                                                     Halide::reinterpret<int32_t>(Expr(1.0f))));
  }

  void build_state_(int slice, const std::string& suffix) {
    AttentionState a;
    a.state = Func("state" + suffix);
    const int features = p_.tiling.feature_group;
    Expr start = 0.0f;
    if (c_.softmax && c_.variant.sink_logit().defined()) {
      const Expr sink = c_.binder_at(qi).mutate(c_.variant.sink_logit());
      start = Halide::select(slot == features + 1, first_maximum_(sink), slot == features,
                             first_sum_(sink), 0.0f);
    } else if (c_.softmax) {
      start = Halide::select(slot == features + 1, mask_score, 0.0f);
    }
    a.state(qi, slot, group) = start;

    // The partial stage comes second, so that the row maximum is usually known when its exceptional
    // blocks arrive.
    if (p_.has_full) {
      a.full = make_key_block_stage(c_, "full" + suffix, p_.query, p_.row_entries, slice, false);
      merge_(a.state, a.full);
    }
    a.partial = make_key_block_stage(c_, "partial" + suffix, p_.query, p_.row_entries, slice, true);
    merge_(a.state, a.partial);
    build_normalised_rows_(a, suffix);
    p_.states.push_back(std::move(a));
  }

  // Adds a block: all slots of a group in one update, so that a softmax computes the maximum and
  // the two corrections once for the group and not once a feature.
  void merge_(Func& state, const KeyBlockStage& s) {
    const int features = p_.tiling.feature_group;
    const Expr block = s.loop.block();
    Expr keep = 1.0f, add = 1.0f, new_max;
    if (c_.softmax) {
      const Expr old_max = state(qi, features + 1, group), block_max = s.maximum(qi, block);
      new_max = Halide::max(old_max, block_max);
      keep = exp2_nonpositive(old_max - new_max);
      add = exp2_nonpositive(block_max - new_max);
    }
    std::vector<Expr> slots, values;
    for (int i = 0; i < features; ++i) {
      slots.emplace_back(i);
      values.push_back(state(qi, i, group) * keep +
                       s.block_out(qi, group * features + i, block) * add);
    }
    slots.emplace_back(features);
    values.push_back(state(qi, features, group) * keep + s.sum(qi, block) * add);
    if (c_.softmax) {
      slots.emplace_back(features + 1);
      values.push_back(new_max);
    }
    state(qi, Halide::scatter(slots), group) = Halide::gather(values);
  }

  void build_normalised_rows_(AttentionState& a, const std::string& suffix) {
    const int features = p_.tiling.feature_group;
    const Expr sum = a.state(qi, features, 0);
    const Expr entry = a.state(qi, d % features, d / features);
    a.rows = Func("rows" + suffix);
    if (!c_.softmax && !c_.variant.divisor().defined()) {
      a.rows(qi, d) = entry;
      return;
    }
    const Expr by =
        c_.softmax ? sum : c_.binder_at(qi).bind("sum", sum).mutate(c_.variant.divisor());
    // No visible key: the sum is exactly 0, and so is the row. By its bits, because NaN must not
    // pass for 0.
    const Expr is_zero = (Halide::reinterpret<int32_t>(by) & 0x7fffffff) == 0;
    a.divisor = Func("divisor" + suffix);
    a.divisor(qi) = Halide::select(is_zero, 1.0f, by);
    // A true division: by way of the reciprocal, the mean of equal values would not be that value.
    a.rows(qi, d) = Halide::strict_float(entry / a.divisor(qi));
  }

  void build_rows_() {
    std::vector<Expr> slices;
    for (AttentionState& a : p_.states) slices.push_back(a.rows(qi, d));
    Func rows = p_.states[0].rows;
    if (slices.size() > 1) {
      BindDeclaration bind = c_.binder_at(qi);
      bind.bind("d", d);
      for (size_t i = 0; i < slices.size(); ++i) {
        bind.bind(Variant::symbolic_slice(static_cast<int>(i)).as<ir::Variable>()->name, slices[i]);
      }
      p_.combined = Func("combined");
      p_.combined(qi, d) = bind.mutate(c_.variant.combination());
      rows = p_.combined;
    }
    const RowLayout layout{{qi, d}, 1, p_.tiling.d_v};
    p_.output_rows = make_row_chain("output", c_.variant.output_steps(), layout, c_.binder_at(qi),
                                    [&](std::vector<Expr> at) { return rows(at); });
    p_.out = Func("out");
    p_.out(d, qi) =
        narrow(p_.output_rows.steps.empty() ? Expr(rows(qi, d))
                                            : Expr(p_.output_rows.steps.back().row(qi, d)),
               p_.tiling.element);
  }

  void build_extra_outputs_() {
    Func& state = p_.states[0].state;
    const int features = p_.tiling.feature_group;
    const Expr sum = state(qi, features, 0), sum_bits = Halide::reinterpret<int32_t>(sum);
    const Expr empty = sum_bits == 0;
    // Maximum and logarithm lose a NaN; the sum never does. By bits, as above.
    const auto of_row = [&](const char* name, const Expr& value) {
      Func f(name);
      f(qi) =
          Halide::reinterpret<float>(Halide::select(empty, minus_infinity_bits, has_nan_bits(sum),
                                                    sum_bits, Halide::reinterpret<int32_t>(value)));
      return f;
    };
    if (c_.variant.returns(Output::Lse)) {
      p_.lse = of_row("lse", state(qi, features + 1, 0) * ln_2 + Halide::log(sum));
    }
    if (c_.variant.returns(Output::RowMax)) {
      p_.row_max = of_row("row_max", state(qi, features + 1, 0) * ln_2);
    }
    if (c_.variant.returns(Output::RowSum)) {
      p_.row_sum = Func("row_sum");
      p_.row_sum(qi) = sum;
    }
    if (c_.variant.returns(Output::Probabilities)) build_probabilities_();
  }

  void build_probabilities_() {
    const int bk = p_.tiling.key_block, features = p_.tiling.feature_group;
    AttentionState& a = p_.states[0];
    p_.inspected_keys = make_key_rows(c_, "keys_inspected", true);
    // Multiplied as in the blocks, in the same order, so that a score meets its own maximum; and of
    // the rows that the state was made from: q itself may be gone, where the output takes its
    // place.
    const bool pairs = p_.tiling.dot_pairs;
    p_.inspected_features = RDom(0, p_.tiling.d_qk / (pairs ? 2 : 1), "features_inspected");
    const Expr key = block * bk + j, stored = Halide::min(key, p_.inputs.kv_len - 1);
    const RDom& f = p_.inspected_features;
    const bool transformed = !p_.inspected_keys.steps.empty();
    const auto key_entry = [&](const Expr& feature) -> Expr {
      return transformed ? Expr(p_.inspected_keys.steps.back().row(feature, j, block))
                         : Expr(p_.inputs.k(feature, stored));
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
      p_.inspected_product(qi, j, block) += p_.query.scaled(qi, f) * widen(key_entry(f));
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
    if (a.divisor.defined()) weight = Halide::strict_float(weight / a.divisor(qi));
    p_.inspected_weight = Func("weight_inspected");
    p_.inspected_weight(qi, j, block) = Halide::select(visible_at(c_, qi, key), weight, 0.0f);
    p_.probabilities = Func("probabilities");
    p_.probabilities(k, qi) = p_.inspected_weight(qi, k % bk, k / bk);
  }

  PrefillContext c_;
  PrefillPipeline p_;
};

}  // namespace

std::vector<Halide::Func> PrefillPipeline::outputs() const {
  std::vector<Func> all = {out};
  for (const Func& f : {lse, row_max, row_sum, probabilities}) {
    if (f.defined()) all.push_back(f);
  }
  return all;
}

PrefillPipeline make_prefill(const Variant& variant, const PrefillTiling& tiling,
                             const TileStatus& status) {
  return PrefillBuilder(variant, tiling, status).build();
}

}  // namespace fovea
