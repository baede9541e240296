// cache_inputs.cpp: slots of a ring, pages of slots.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/cache_inputs.h"

namespace fovea {

using Halide::Expr;

CacheInputs make_cache_inputs(CacheKind kind) {
  CacheInputs in;
  in.kind = kind;
  if (!is_cache(kind)) return in;
  in.pages = Halide::ImageParam(Halide::Int(32), 1, "pages_in");
  in.pages.dim(0).set_min(0);
  in.page_shift = Halide::Param<int>("page_shift");
  in.ring_sinks = Halide::Param<int>("ring_sinks");
  in.ring_begin = Halide::Param<int>("ring_begin");
  in.ring_slot = Halide::Param<int>("ring_slot");
  in.ring_end = Halide::Param<int>("ring_end");
  if (!is_quantised(kind)) return in;
  in.k_scale = Halide::ImageParam(Halide::Float(16), 3, "key_scale_in");
  in.v_scale = Halide::ImageParam(Halide::Float(16), 3, "value_scale_in");
  for (Halide::ImageParam* p : {&in.k_scale, &in.v_scale}) {
    for (int i = 0; i < 3; ++i) p->dim(i).set_min(0);
  }
  in.k_group_shift = Halide::Param<int>("k_group_shift");
  in.v_group_shift = Halide::Param<int>("v_group_shift");
  return in;
}

KeyPlace CacheInputs::place_of(const Expr& key) const {
  if (!is_cache(kind)) return {key, Expr()};
  // A key that is gone takes the place of the oldest one that is not.
  const Expr turned = ring_slot + Halide::max(key - ring_begin, 0);
  const Expr wrapped = Halide::select(turned >= ring_end, turned - (ring_end - ring_sinks), turned);
  const Expr slot = Halide::select(key < ring_sinks, key, wrapped);
  const Expr page =
      pages(Halide::unsafe_promise_clamped(slot >> page_shift, 0, pages.dim(0).extent() - 1));
  return {slot & ((Expr(1) << page_shift) - 1), page};
}

Expr CacheInputs::holds(const Expr& key) const {
  return is_cache(kind) ? key < ring_sinks || key >= ring_begin : Halide::Internal::const_true();
}

Expr CacheInputs::holds_all(const Expr& first, const Expr& end) const {
  return is_cache(kind) ? end <= ring_sinks || first >= ring_begin : Halide::Internal::const_true();
}

Expr CacheInputs::holds_any(const Expr& first, const Expr& end) const {
  return is_cache(kind) ? first < ring_sinks || end > ring_begin : Halide::Internal::const_true();
}

void CacheInputs::append_to(std::vector<Halide::Argument>& arguments) const {
  if (!is_cache(kind)) return;
  arguments.insert(arguments.end(),
                   {pages, page_shift, ring_sinks, ring_begin, ring_slot, ring_end});
  if (is_quantised(kind))
    arguments.insert(arguments.end(), {k_scale, v_scale, k_group_shift, v_group_shift});
}

}  // namespace fovea
