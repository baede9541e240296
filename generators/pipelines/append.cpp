// append.cpp: declaration -> Funcs of the append pass. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/append.h"

#include <fmt/format.h>

#include <algorithm>

#include "generators/pipelines/tile_context.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

constexpr int32_t infinity_bits = 0x7f800000;
constexpr uint16_t f16_infinity = 0x7c00, f16_nan = 0x7e00;

// The smallest f16 that is not below a number that is not negative: no element of the group is then
// beyond the largest number of its type. Too large for f16: NaN.
Expr f16_from_above(const Expr& value) {
  const Expr nearest = Halide::reinterpret(Halide::UInt(16), narrow(value, Element::F16));
  const Expr below = widen(Halide::reinterpret(Halide::Float(16), nearest)) < value;
  const Expr bits =
      nearest + Halide::select(below, Halide::cast<uint16_t>(1), Halide::cast<uint16_t>(0));
  return Halide::select(bits >= f16_infinity, f16_nan, bits);
}

class AppendBuilder {
 public:
  AppendBuilder(const Variant& variant, const AppendTiling& tiling)
      : variant_(variant), t_(tiling) {
    p_.tiling = tiling;
    AppendInputs& in = p_.inputs;
    in.cache = tiling.cache;
    const Halide::Type type = stored_type(tiling.element);
    in.k_new = Halide::ImageParam(type, 2, "key_in");
    in.v_new = Halide::ImageParam(type, 2, "value_in");
    for (Halide::ImageParam* p : {&in.k_new, &in.v_new}) {
      p->dim(0).set_bounds(0, p == &in.k_new ? tiling.d_qk : tiling.d_v);
      p->dim(1).set_min(0);
    }
    in.first_key = Halide::Param<int>("first_key");
    in.batch = Halide::Param<int>("batch");
    in.kv_head = Halide::Param<int>("kv_head");
    in.k_group_shift = Halide::Param<int>("k_group_shift");
    in.v_group_shift = Halide::Param<int>("v_group_shift");
    in.has_scales = Halide::Param<int>("has_scales");
    in.parameters = make_parameters(variant, variant.cached_parameters());
  }

  AppendPipeline build() {
    const AppendInputs& in = p_.inputs;
    p_.keys = rows_("key", variant_.key_steps(), in.k_new, t_.d_qk, in.k_group_shift);
    p_.values = rows_("value", variant_.value_steps(), in.v_new, t_.d_v, in.v_group_shift);
    return std::move(p_);
  }

 private:
  BindDeclaration binder_() const {
    std::map<std::string, Halide::Parameter> parameters;
    size_t next = 0;
    for (const size_t i : variant_.cached_parameters())
      parameters[variant_.parameters()[i]->name] = p_.inputs.parameters[next++];
    BindDeclaration b(parameters);
    b.bind("batch", p_.inputs.batch)
        .bind("kv_head", p_.inputs.kv_head)
        .bind("k", p_.inputs.first_key + qi);
    return b;
  }

  AppendedRows rows_(const std::string& name, const std::vector<Expr>& transforms,
                     const Halide::ImageParam& in, int size, const Expr& shift) const {
    AppendedRows r;
    r.size = size;
    r.stored = Func(name);
    r.steps = make_row_chain(name + "s", transforms, {{d, qi}, 0, size}, binder_(),
                             [&](std::vector<Expr> at) { return widen(in(at[0], at[1])); });
    const bool transformed = !r.steps.steps.empty();
    const auto number = [&](const Expr& feature) -> Expr {
      return transformed ? Expr(r.steps.steps.back().row(feature, qi)) : widen(in(feature, qi));
    };
    if (!is_quantised(t_.cache)) {
      // What is not transformed keeps its bits.
      r.stored(d, qi) = transformed ? narrow(number(d), t_.element) : Expr(in(d, qi));
      return r;
    }
    const int most_groups = std::max(1, size / scale_unit);
    const auto group_of = [&](const Expr& feature) {
      return Halide::unsafe_promise_clamped((feature / scale_unit) >> shift, 0, most_groups - 1);
    };
    // Magnitudes are ordered as their bits are, NaN above infinity.
    r.features = RDom(0, size, name + "_features");
    r.features.where(group_of(r.features) == group);
    r.largest = Func(name + "_largest");
    r.largest(group, qi) = 0;
    r.largest(group, qi) = Halide::max(
        r.largest(group, qi), Halide::reinterpret<int32_t>(number(r.features)) & 0x7fffffff);
    const Expr bits = r.largest(group, qi);
    const Expr exact =
        Halide::strict_float(Halide::reinterpret<float>(bits) / largest_number(t_.cache));
    const Expr rounded = Halide::select(bits >= infinity_bits, f16_nan, f16_from_above(exact));
    const Expr half = Halide::select(p_.inputs.has_scales != 0, rounded,
                                     Halide::cast<uint16_t>(0x3c00));  // 1
    r.scale = Func(name + "_scale_of_group");
    r.scale(group, qi) = widen(Halide::reinterpret(Halide::Float(16), half));
    r.stored_scale = Func(name + "_scale");
    r.stored_scale(group, qi) = narrow(r.scale(group, qi), Element::F16);

    const Expr scale = r.scale(group_of(d), qi);
    // Of a group without a scale nothing is asked of its numbers.
    const Expr none =
        (Halide::reinterpret<int32_t>(scale) & 0x7fffffff) == 0 || has_nan_bits(scale);
    const Expr divided = Halide::strict_float(number(d) / Halide::select(none, 1.0f, scale));
    r.quantised = Func(name + "_quantised");
    r.quantised(d, qi) = quantise(t_.cache, Halide::select(none, 0.0f, divided));
    if (t_.cache == CacheKind::Int4) {
      const Expr first = d / int4_distance * (2 * int4_distance) + d % int4_distance;
      r.stored(d, qi) = r.quantised(first, qi) |
                        (r.quantised(first + int4_distance, qi) << Halide::cast<uint8_t>(4));
    } else {
      r.stored(d, qi) = r.quantised(d, qi);
    }
    return r;
  }

  const Variant& variant_;
  const AppendTiling t_;
  AppendPipeline p_;
};

}  // namespace

std::vector<Halide::Argument> AppendInputs::arguments() const {
  std::vector<Halide::Argument> all = {k_new, v_new, first_key, batch, kv_head};
  if (is_quantised(cache)) all.insert(all.end(), {k_group_shift, v_group_shift, has_scales});
  fovea::append_parameters(parameters, all);
  return all;
}

std::vector<Halide::Func> AppendPipeline::outputs() const {
  std::vector<Func> all = {keys.stored, values.stored};
  if (is_quantised(tiling.cache)) all.insert(all.end(), {keys.stored_scale, values.stored_scale});
  return all;
}

AppendPipeline make_append(const Variant& variant, const AppendTiling& tiling) {
  return AppendBuilder(variant, tiling).build();
}

std::string why_not_cached(const Variant& variant) {
  for (const auto& [what, steps] :
       {std::pair{"keys", &variant.key_steps()}, std::pair{"values", &variant.value_steps()}}) {
    for (const Expr& step : *steps) {
      for (const char* length : {"kv_len", "q_len"}) {
        if (ir::expr_uses_var(step, length))
          return fmt::format("its transform of {} asks for {}, which grows while they are cached",
                             what, length);
      }
    }
  }
  return "";
}

}  // namespace fovea
