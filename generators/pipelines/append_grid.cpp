// append_grid.cpp: declaration -> Funcs of the append pass of devices. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/append_grid.h"

#include "generators/pipelines/append_binder.h"
#include "generators/pipelines/tile_context.h"

namespace fovea {
namespace {

using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

// Named apart from the scalars, which inlining would take for them.
const Var head("new_head"), sequence("new_sequence");

class AppendGridBuilder {
 public:
  AppendGridBuilder(const Variant& variant, const AppendTiling& tiling)
      : variant_(variant), t_(tiling) {
    p_.tiling = tiling;
    AppendGridInputs& in = p_.inputs;
    const Halide::Type type = bits_type(tiling.element);
    in.k_new = Halide::ImageParam(type, 4, "key_in");
    in.v_new = Halide::ImageParam(type, 4, "value_in");
    for (Halide::ImageParam* p : {&in.k_new, &in.v_new}) {
      p->dim(0).set_bounds(0, p == &in.k_new ? tiling.d_qk : tiling.d_v);
      for (int axis = 1; axis < 4; ++axis) p->dim(axis).set_min(0);
    }
    in.k_new_start = Halide::Param<int64_t>("key_start");
    in.v_new_start = Halide::Param<int64_t>("value_start");
    in.first_key = Halide::Param<int>("first_key");
    in.kv_head = Halide::Param<int>("kv_head");
    in.batch = Halide::Param<int>("batch");
    in.sequence = Halide::Param<int>("sequence");
    in.rows = Halide::Param<int>("rows");
    in.heads = Halide::Param<int>("heads");
    in.sequences = Halide::Param<int>("sequences");
    in.cache = make_cache_inputs(tiling.cache, true);
    in.k_group_shift = Halide::Param<int>("k_group_shift");
    in.v_group_shift = Halide::Param<int>("v_group_shift");
    in.has_scales = Halide::Param<int>("has_scales");
    in.parameters = make_parameters(variant, variant.cached_parameters());
  }

  AppendGrid build() {
    for (const bool of_scales : {false, true}) {
      if (of_scales && !is_quantised(t_.cache)) continue;
      add_("key", variant_.key_steps(), p_.inputs.k_new, t_.d_qk, p_.inputs.k_group_shift,
           of_scales);
      add_("value", variant_.value_steps(), p_.inputs.v_new, t_.d_v, p_.inputs.v_group_shift,
           of_scales);
    }
    return std::move(p_);
  }

 private:
  void add_(const std::string& what, const std::vector<Expr>& transforms,
            const Halide::ImageParam& from, int size, const Expr& shift, bool of_scales) {
    const AppendGridInputs& in = p_.inputs;
    // Halide computes a Func for one output only: scales have rows of their own.
    const std::string name = what + (of_scales ? "_scale" : "");
    const NewRows rows{transforms,
                       append_binder(variant_, in.parameters, in.batch + sequence,
                                     in.kv_head + head, in.first_key + qi),
                       [&](std::vector<Expr> at) {
                         return from(at[0], at[1], in.kv_head + at[2], in.sequence + at[3]);
                       },
                       append_points(),
                       size,
                       t_.element,
                       t_.cache,
                       true,
                       shift_of(true, shift),
                       in.has_scales};
    AppendGridInputs::Place place{
        Halide::Param<int64_t>(name + "_out_start"), Halide::Param<int>(name + "_elements"),
        Halide::Param<int>(name + "_slot_stride"), Halide::Param<int>(name + "_page_stride"),
        Halide::Param<int>(name + "_head_stride")};
    AppendOutput out;
    out.rows = make_appended_rows(name, rows);
    out.elements = of_scales ? most_groups(size) : stored_size(size, t_.cache);
    out.tokens = RDom(0, out.elements, 0, in.rows, 0, in.heads, 0, in.sequences, name + "_tokens");
    RDom r = out.tokens;
    const Expr key = in.first_key + r.y;
    const KeyPlace lies = in.cache.place_of(key, in.batch + r.w);
    // Nothing is written for keys that the ring gives up before the call ends, and where the block
    // table, which nobody has looked at, names no page.
    r.where(in.cache.holds(key) && in.cache.has_page(key, in.batch + r.w));
    if (of_scales) r.where(r.x < place.elements);
    const auto wide = [](const Expr& e) { return Halide::cast<int64_t>(e); };
    const Expr offset = wide(lies.slot) * wide(place.slot_stride) +
                        wide(lies.page) * wide(place.page_stride) +
                        wide(in.kv_head + r.z) * wide(place.head_stride);
    const std::vector<Expr> at = {r.x, r.y, r.z, r.w};
    const Expr value =
        of_scales ? stored_scale(out.rows, rows, at) : stored_element(out.rows, rows, at);
    out.f = Func(name + "_out");
    out.f(d, block) = Halide::undef(value.type());
    out.f(r.x, Halide::unsafe_promise_clamped(Halide::cast<int32_t>(offset), 0, INT32_MAX - 1)) =
        value;
    p_.inputs.places.push_back(place);
    p_.outputs.push_back(std::move(out));
  }

  const Variant& variant_;
  const AppendTiling t_;
  AppendGrid p_;
};

}  // namespace

std::vector<Var> append_points() { return {qi, head, sequence}; }

std::vector<Halide::Argument> AppendGridInputs::arguments() const {
  std::vector<Halide::Argument> all = {k_new,     v_new,   k_new_start, v_new_start,
                                       first_key, kv_head, batch,       sequence,
                                       rows,      heads,   sequences};
  cache.append_places_to(all);
  if (is_quantised(cache.kind)) all.insert(all.end(), {k_group_shift, v_group_shift, has_scales});
  fovea::append_parameters(parameters, all);
  for (const Place& p : places)
    all.insert(all.end(), {p.start, p.elements, p.slot_stride, p.page_stride, p.head_stride});
  return all;
}

AppendGrid make_append_grid(const Variant& variant, const AppendTiling& tiling) {
  return AppendGridBuilder(variant, tiling).build();
}

}  // namespace fovea
