// prefill.cpp: declaration -> Funcs of the prefill pass. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/prefill.h"

#include <map>
#include <string_view>

#include "generators/pipelines/math.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

// Score of a hidden key and start of every running maximum. Finite, because generated code is
// compiled under the assumption that there are no infinities; below every logit the contract admits
// (1e29, times log2 e).
constexpr float mask_score = -1e30f;

// Weight of a hidden key inside a partial block. A mark that no weight can have, compared by its
// bits: a hidden key must be left out of the sums even if its value row holds NaN, while a visible
// key whose weight is 0 must not be left out.
constexpr float hidden_weight = -1.0f;
constexpr int32_t hidden_weight_bits = static_cast<int32_t>(0xbf800000u);

// As integers every weight, and NaN of either sign, lies above the mark. In this form the select
// around a multiply-add becomes one masked instruction.
Expr is_visible(const Expr& weight) {
  return hidden_weight_bits < Halide::reinterpret<int32_t>(weight);
}

const Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group");

// Turns the symbols of a declaration into expressions of the kernel.
class BindDeclaration : public ir::IRMutator {
 public:
  BindDeclaration(const Variant& variant, const PrefillInputs& inputs) {
    for (size_t i = 0; i < variant.parameters().size(); ++i) {
      parameters_[variant.parameters()[i]->name] = inputs.parameters[i];
    }
    values_ = {{"batch", inputs.batch},
               {"head", inputs.head},
               {"kv_head", inputs.kv_head},
               {"q_len", inputs.q_len},
               {"kv_len", inputs.kv_len}};
  }

  void bind(const std::string& name, Expr value) { values_[name] = std::move(value); }

 private:
  using ir::IRMutator::visit;

  Expr visit(const ir::Variable* op) override {
    if (const auto value = values_.find(op->name); value != values_.end()) return value->second;
    if (const auto p = parameters_.find(op->name); p != parameters_.end()) {
      return ir::Variable::make(op->type, p->second.name(), p->second);
    }
    return op;
  }

  Expr visit(const ir::Call* op) override {
    // Of the functions that dsl.h names, the one that Halide leaves to the C library, lane by lane.
    if (op->is_extern() && op->name == "tanh_f32") return tanh_rational(mutate(op->args[0]));
    if (op->call_type != ir::Call::PureExtern ||
        !std::string_view(op->name).starts_with(table_prefix)) {
      return ir::IRMutator::visit(op);
    }
    const Halide::Parameter& table =
        parameters_.at(op->name.substr(std::string_view(table_prefix).size()));
    std::vector<Expr> indices;
    for (size_t i = 0; i < op->args.size(); ++i) {
      const Expr extent =
          ir::Variable::make(Halide::Int(32), table.name() + ".extent." + std::to_string(i), table);
      // Masked positions read too; the clamp keeps their (unused) index inside.
      indices.push_back(Halide::clamp(mutate(op->args[i]), 0, extent - 1));
    }
    const Expr entry = ir::Call::make(table, indices);
    // Integer entries take part in sums of positions like scalars do, and keep to the same range.
    return entry.type().is_int() ? Halide::clamp(entry, -largest_integer, largest_integer) : entry;
  }

  std::map<std::string, Halide::Parameter> parameters_;
  std::map<std::string, Expr> values_;
};

PrefillInputs make_inputs(const Variant& variant, const PrefillTiling& tiling) {
  PrefillInputs in{Halide::ImageParam(Halide::Float(32), 2, "query_in"),
                   Halide::ImageParam(Halide::Float(32), 2, "key_in"),
                   Halide::ImageParam(Halide::Float(32), 2, "value_in"),
                   Halide::Param<int>("q_block"),
                   Halide::Param<int>("q_offset"),
                   Halide::Param<int>("q_len"),
                   Halide::Param<int>("kv_len"),
                   Halide::Param<int>("batch"),
                   Halide::Param<int>("head"),
                   Halide::Param<int>("kv_head"),
                   Halide::Param<float>("scale"),
                   {}};
  for (Halide::ImageParam* p : {&in.q, &in.k, &in.v}) {
    p->dim(0).set_bounds(0, p == &in.v ? tiling.d_v : tiling.d_qk);
    p->dim(1).set_min(0);
  }
  for (const auto& p : variant.parameters()) {
    // Named apart from the kernel's own arguments: a variant may call its scalar "scale" or
    // "q_block".
    const std::string name = "parameter_" + p->name;
    if (p->kind == Parameter::Kind::Scalar) {
      in.parameters.emplace_back(p->type, false, 0, name);
    } else {
      Halide::ImageParam table(p->type, static_cast<int>(p->axes.size()), name);
      for (int i = 0; i < table.dimensions(); ++i) table.dim(i).set_min(0);
      table.dim(0).set_stride(Expr());  // any stride, broadcast included
      in.parameters.push_back(table.parameter());
    }
  }
  return in;
}

class PrefillBuilder {
 public:
  PrefillBuilder(const Variant& variant, const PrefillTiling& tiling, const TileStatus& status)
      : variant_(variant), tiling_(tiling), status_(status) {
    p_.tiling = tiling;
    p_.inputs = make_inputs(variant, tiling);
    q_first_ = p_.inputs.q_offset + p_.inputs.q_block * tiling.block_rows;
    steps_ = !variant.score_steps().empty();
  }

  PrefillPipeline build() {
    build_query_();
    build_state_init_();
    p_.has_full = !ir::is_const_zero(status_.full);
    // The partial stage comes second, so that the row maximum is usually known when its exceptional
    // blocks arrive.
    if (p_.has_full) {
      p_.full = make_stage_("full", false);
      merge_into_state_(p_.full);
    }
    p_.partial = make_stage_("partial", true);
    merge_into_state_(p_.partial);
    build_outputs_();
    return std::move(p_);
  }

 private:
  void build_query_() {
    const PrefillInputs& in = p_.inputs;
    // Score steps see natural units; without any, the change of base is folded in here.
    const Expr factor = steps_ ? Expr(in.scale) : in.scale * log2_e;
    p_.query = Func("query");
    p_.query(qi, d) = in.q(d, Halide::min(qi, in.q.dim(1).extent() - 1)) * factor;
  }

  void build_state_init_() {
    p_.state = Func("state");
    p_.state(qi, slot, group) = Halide::select(slot == tiling_.feature_group + 1, mask_score, 0.0f);
  }

  // A condition of the tile status for key block `c` (and key k).
  Expr tile_condition_(Expr condition, const Expr& c, const Expr& k = Expr()) const {
    BindDeclaration bind(variant_, p_.inputs);
    bind.bind(TileStatus::q_first().as<ir::Variable>()->name, q_first_);
    bind.bind(TileStatus::k_block().as<ir::Variable>()->name, c);
    if (k.defined()) bind.bind("k", k);
    return bind.mutate(condition);
  }

  // An expression of the declaration at row qi and key k.
  Expr at_position_(const Expr& e, const Expr& k, const Expr& score = Expr()) const {
    BindDeclaration bind(variant_, p_.inputs);
    bind.bind("q", q_first_ + qi);
    bind.bind("k", k);
    if (score.defined()) bind.bind("score", score);
    return bind.mutate(e);
  }

  KeyBlockStage make_stage_(const std::string& name, bool partial) {
    const PrefillInputs& in = p_.inputs;
    const int bk = tiling_.key_block;
    const Expr kv_len = in.kv_len;
    KeyBlockStage s{Func("product_" + name),
                    Func("score_" + name),
                    Func("maximum_" + name),
                    Func("weight_" + name),
                    Func("sum_" + name),
                    Func("weighted_" + name),
                    Func("block_out_" + name),
                    RDom(0, tiling_.d_qk, "features_" + name),
                    RDom(0, bk, "max_keys_" + name),
                    RDom(0, bk, "sum_keys_" + name),
                    RDom(0, bk, "value_keys_" + name),
                    RDom(0, (kv_len + (bk - 1)) / bk, "blocks_" + name)};
    const Expr first_key = block * bk;
    if (partial) {
      // Passes over the keys stop at the first and last key that some row of the tile sees.
      for (RDom* keys : {&s.max_keys, &s.sum_keys, &s.value_keys}) {
        const Expr k = first_key + *keys;
        keys->where(k < kv_len && tile_condition_(status_.live_key, block, k));
      }
    }
    // Every tile of products is computed whole; past the end it repeats the last key, and the mask
    // hides it.
    const auto key_row = [&](const Expr& key) {
      return partial ? Halide::min(first_key + key, kv_len - 1) : first_key + key;
    };
    const Expr visible =
        partial ? first_key + j < kv_len && at_position_(variant_.mask(), first_key + j) : Expr();

    s.product(qi, j, block) = 0.0f;
    s.product(qi, j, block) += p_.query(qi, s.features) * in.k(s.features, key_row(j));
    Expr score = s.product(qi, j, block);
    if (steps_) score = at_position_(variant_.score_chain(), first_key + j, score) * log2_e;
    s.score(qi, j, block) = partial ? Halide::select(visible, score, mask_score) : score;

    s.maximum(qi, block) = mask_score;
    s.maximum(qi, block) = Halide::max(s.maximum(qi, block), s.score(qi, s.max_keys, block));

    const Expr weight = exp2_nonpositive(s.score(qi, j, block) - s.maximum(qi, block));
    s.weight(qi, j, block) = partial ? Halide::select(visible, weight, hidden_weight) : weight;

    s.sum(qi, block) = 0.0f;
    const Expr summand = s.weight(qi, s.sum_keys, block);
    s.sum(qi, block) += partial ? Halide::select(is_visible(summand), summand, 0.0f) : summand;

    s.weighted(qi, d, block) = 0.0f;
    const Expr factor = s.weight(qi, s.value_keys, block), before = s.weighted(qi, d, block);
    const Expr after = before + factor * in.v(d, key_row(s.value_keys));
    s.weighted(qi, d, block) = partial ? Halide::select(is_visible(factor), after, before) : after;
    s.block_out(qi, d, block) = s.weighted(qi, d, block);

    const Expr c = s.blocks;
    const Expr whole = (c + 1) * bk <= kv_len && tile_condition_(status_.full, c);
    s.blocks.where(partial ? tile_condition_(status_.live, c) && !whole : whole);
    return s;
  }

  // Rescales what is there to the new maximum and adds the block: all slots of a group in one
  // update, so that the maximum and the two corrections are computed once for the group and not
  // once a feature.
  void merge_into_state_(const KeyBlockStage& s) {
    const int features = tiling_.feature_group;
    Func& state = p_.state;
    const Expr old_max = state(qi, features + 1, group), block_max = s.maximum(qi, s.blocks);
    const Expr new_max = Halide::max(old_max, block_max);
    const Expr keep = exp2_nonpositive(old_max - new_max),
               add = exp2_nonpositive(block_max - new_max);
    std::vector<Expr> slots, values;
    for (int i = 0; i < features; ++i) {
      slots.emplace_back(i);
      values.push_back(state(qi, i, group) * keep +
                       s.block_out(qi, group * features + i, s.blocks) * add);
    }
    slots.emplace_back(features);
    values.push_back(state(qi, features, group) * keep + s.sum(qi, s.blocks) * add);
    slots.emplace_back(features + 1);
    values.push_back(new_max);
    state(qi, Halide::scatter(slots), group) = Halide::gather(values);
  }

  void build_outputs_() {
    const int features = tiling_.feature_group;
    const Expr sum = p_.state(qi, features, 0);
    // No visible key: sum is exactly 0. By its bits, because NaN must not pass for 0.
    const Expr empty = Halide::reinterpret<int32_t>(sum) == 0;
    p_.divisor = Func("divisor");
    p_.divisor(qi) = Halide::select(empty, 1.0f, sum);
    p_.rows = Func("rows");
    // A true division: by way of the reciprocal, the mean of equal values would not be that value.
    p_.rows(qi, d) =
        Halide::strict_float(p_.state(qi, d % features, d / features) / p_.divisor(qi));
    p_.out = Func("out");
    p_.out(d, qi) = p_.rows(qi, d);
    if (variant_.returns_lse()) {
      const Expr value = p_.state(qi, features + 1, 0) * ln_2 + Halide::log(sum);
      const int32_t minus_infinity = static_cast<int32_t>(0xff800000u);
      const int32_t infinity = 0x7f800000, no_sign = 0x7fffffff;
      // Maximum and logarithm lose a NaN; the sum never does. Again by bits.
      const Expr sum_bits = Halide::reinterpret<int32_t>(sum);
      p_.lse = Func("lse");
      p_.lse(qi) = Halide::reinterpret<float>(
          Halide::select(empty, minus_infinity, (sum_bits & no_sign) > infinity, sum_bits,
                         Halide::reinterpret<int32_t>(value)));
    }
  }

  const Variant& variant_;
  const PrefillTiling& tiling_;
  const TileStatus& status_;
  PrefillPipeline p_;
  Expr q_first_;
  bool steps_ = false;
};

}  // namespace

std::vector<Halide::Argument> PrefillInputs::arguments() const {
  std::vector<Halide::Argument> all = {q,      k,     v,    q_block, q_offset, q_len,
                                       kv_len, batch, head, kv_head, scale};
  for (const Halide::Parameter& p : parameters) {
    all.emplace_back(p.name(),
                     p.is_buffer() ? Halide::Argument::InputBuffer : Halide::Argument::InputScalar,
                     p.type(), p.is_buffer() ? p.dimensions() : 0, p.get_argument_estimates());
  }
  return all;
}

std::vector<Halide::Func> PrefillPipeline::outputs() const {
  return lse.defined() ? std::vector<Halide::Func>{out, lse} : std::vector<Halide::Func>{out};
}

PrefillPipeline make_prefill(const Variant& variant, const PrefillTiling& tiling,
                             const TileStatus& status) {
  return PrefillBuilder(variant, tiling, status).build();
}

}  // namespace fovea
