// cache_inputs.cpp: slots of a ring, pages of slots.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/cache_inputs.h"

#include <cstdint>

namespace fovea {

using Halide::Expr;

Halide::ImageParam make_slots(const Halide::Type& type, const std::string& name) {
  Halide::ImageParam slots(type, 4, name);
  for (int i = 0; i < 4; ++i) slots.dim(i).set_min(0);
  slots.dim(1).set_stride(1);
  return slots;
}

Expr offset_of(const Halide::ImageParam& slots, const KeyPlace& place) {
  const auto wide = [](const Expr& e) { return Halide::cast<int64_t>(e); };
  return wide(place.slot) * wide(slots.dim(2).stride()) +
         wide(place.page) * wide(slots.dim(3).stride());
}

Expr slot_entry(const Halide::ImageParam& slots, const Expr& feature, const Expr& offset) {
  const Expr narrow =
      Halide::unsafe_promise_clamped(Halide::cast<int32_t>(offset), 0, slots.dim(1).extent() - 1);
  return slots(feature, narrow, 0, 0);
}

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
  in.k_scale = make_slots(Halide::Float(16), "key_scale_in");
  in.v_scale = make_slots(Halide::Float(16), "value_scale_in");
  in.k_group_shift = Halide::Param<int>("k_group_shift");
  in.v_group_shift = Halide::Param<int>("v_group_shift");
  return in;
}

KeyPlace CacheInputs::place_of(const Expr& key) const {
  // A key that is gone takes the place of the oldest one that is not.
  const Expr turned = ring_slot + Halide::max(key - ring_begin, 0);
  const Expr wrapped = Halide::select(turned >= ring_end, turned - (ring_end - ring_sinks), turned);
  const Expr slot = Halide::select(key < ring_sinks, key, wrapped);
  return {slot_in_page(slot), page_of(slot)};
}

Expr CacheInputs::is_straight(int unit) const {
  return ring_end == INT32_MAX && (Expr(1) << page_shift) >= unit;
}

Expr CacheInputs::slot_in_page(const Expr& slot) const {
  return slot & ((Expr(1) << page_shift) - 1);
}

Expr CacheInputs::page_of(const Expr& slot) const {
  return pages(Halide::unsafe_promise_clamped(slot >> page_shift, 0, pages.dim(0).extent() - 1));
}

Expr CacheInputs::has_one_scale() const { return v_group_shift == one_group; }

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
