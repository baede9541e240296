// append.cpp: declaration -> Funcs of the append pass. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/append.h"

#include <fmt/format.h>

#include "generators/pipelines/append_binder.h"
#include "generators/pipelines/tile_context.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;

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
  AppendedRows rows_(const std::string& name, const std::vector<Expr>& transforms,
                     const Halide::ImageParam& in, int size, const Expr& shift) const {
    const AppendInputs& inputs = p_.inputs;
    const NewRows rows{transforms,
                       append_binder(variant_, inputs.parameters, inputs.batch, inputs.kv_head,
                                     inputs.first_key + qi),
                       [&](std::vector<Expr> at) { return in(at[0], at[1]); },
                       {qi},
                       size,
                       t_.element,
                       t_.cache,
                       false,
                       shift,
                       inputs.has_scales};
    AppendedRows r = make_appended_rows(name, rows);
    r.stored = Func(name);
    r.stored(d, qi) = stored_element(r, rows, {d, qi});
    if (is_quantised(t_.cache)) {
      r.stored_scale = Func(name + "_scale");
      r.stored_scale(group, qi) = stored_scale(r, rows, {group, qi});
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
