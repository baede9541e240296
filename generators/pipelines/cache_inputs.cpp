// cache_inputs.cpp: slots of a ring, pages of slots.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/cache_inputs.h"

#include <cstdint>

#include "generators/lowering/wide_offsets.h"

namespace fovea {

using Halide::Expr;

Halide::ImageParam make_slots(const Halide::Type& type, const std::string& name, bool grid) {
  Halide::ImageParam slots(type, grid ? 5 : 4, name);
  for (int i = 0; i < slots.dimensions(); ++i) slots.dim(i).set_min(0);
  slots.dim(1).set_stride(1);
  return slots;
}

Expr offset_of(const Halide::ImageParam& slots, const KeyPlace& place, const Expr& kv_head) {
  const auto wide = [](const Expr& e) { return Halide::cast<int64_t>(e); };
  const Expr offset = wide(place.slot) * wide(slots.dim(2).stride()) +
                      wide(place.page) * wide(slots.dim(3).stride());
  return slots.dimensions() == 4 ? offset : offset + wide(kv_head) * wide(slots.dim(4).stride());
}

Expr slot_entry(const Halide::ImageParam& slots, const Expr& feature, const Expr& offset,
                const Expr& elements_on) {
  const bool grid = slots.dimensions() == 5;
  const Expr narrow = Halide::unsafe_promise_clamped(
      grid ? narrowed(offset) : Halide::cast<int32_t>(offset), 0, slots.dim(1).extent() - 1);
  const Expr at = narrow + elements_on;
  return grid ? slots(feature, at, 0, 0, 0) : slots(feature, at, 0, 0);
}

CacheInputs make_cache_inputs(CacheKind kind, bool grid) {
  CacheInputs in;
  in.kind = kind;
  in.grid = grid;
  if (!is_cache(kind)) return in;
  in.pages = Halide::ImageParam(Halide::Int(32), grid ? 2 : 1, "pages_in");
  for (int i = 0; i < in.pages.dimensions(); ++i) in.pages.dim(i).set_min(0);
  in.page_shift = Halide::Param<int>("page_shift");
  in.ring_sinks = Halide::Param<int>("ring_sinks");
  in.ring_begin = Halide::Param<int>("ring_begin");
  in.ring_slot = Halide::Param<int>("ring_slot");
  in.ring_end = Halide::Param<int>("ring_end");
  in.pool_pages = Halide::Param<int>("pool_pages");
  in.pages_start = Halide::Param<int64_t>("pages_start");
  if (!is_quantised(kind)) return in;
  const Halide::Type scale = grid ? bits_type(Element::F16) : stored_type(Element::F16);
  in.k_scale = make_slots(scale, "key_scale_in", grid);
  in.v_scale = make_slots(scale, "value_scale_in", grid);
  in.k_scale_start = Halide::Param<int64_t>("k_scale_start");
  in.v_scale_start = Halide::Param<int64_t>("v_scale_start");
  in.k_group_shift = Halide::Param<int>("k_group_shift");
  in.v_group_shift = Halide::Param<int>("v_group_shift");
  return in;
}

Expr CacheInputs::slot_of_(const Expr& key) const {
  // A key that is gone takes the place of the oldest one that is not.
  const Expr turned = ring_slot + Halide::max(key - ring_begin, 0);
  const Expr wrapped = Halide::select(turned >= ring_end, turned - (ring_end - ring_sinks), turned);
  return Halide::select(key < ring_sinks, key, wrapped);
}

KeyPlace CacheInputs::place_of(const Expr& key, const Expr& sequence) const {
  const Expr slot = slot_of_(key);
  return {slot_in_page(slot), page_of(slot, sequence)};
}

Expr CacheInputs::is_straight(int unit) const {
  return ring_end == INT32_MAX && (Expr(1) << page_shift) >= unit;
}

Expr CacheInputs::slot_in_page(const Expr& slot) const {
  return slot & ((Expr(1) << shift_of(grid, page_shift)) - 1);
}

Expr CacheInputs::entry_(const Expr& slot, const Expr& sequence) const {
  const Expr column = Halide::unsafe_promise_clamped(slot >> shift_of(grid, page_shift), 0,
                                                     pages.dim(0).extent() - 1);
  return grid ? pages(column, sequence) : pages(column);
}

Expr CacheInputs::page_of(const Expr& slot, const Expr& sequence) const {
  const Expr entry = entry_(slot, sequence);
  if (!grid) return entry;
  // In memory of a device, where nobody has looked at the numbers: whatever they are, a place is
  // one of the pool.
  return Halide::select(pool_pages == 0, sequence, Halide::clamp(entry, 0, pool_pages - 1));
}

Expr CacheInputs::has_page(const Expr& key, const Expr& sequence) const {
  const Expr entry = entry_(slot_of_(key), sequence);
  return pool_pages == 0 || (entry >= 0 && entry < pool_pages);
}

Expr shift_of(bool grid, const Expr& bits) { return grid ? Halide::cast<uint32_t>(bits) : bits; }

Expr CacheInputs::has_one_key_scale() const { return k_group_shift == one_group; }

Expr CacheInputs::has_one_value_scale() const { return v_group_shift == one_group; }

Expr CacheInputs::holds(const Expr& key) const {
  return is_cache(kind) ? key < ring_sinks || key >= ring_begin : Halide::Internal::const_true();
}

Expr CacheInputs::holds_all(const Expr& first, const Expr& end) const {
  return is_cache(kind) ? end <= ring_sinks || first >= ring_begin : Halide::Internal::const_true();
}

Expr CacheInputs::holds_any(const Expr& first, const Expr& end) const {
  return is_cache(kind) ? first < ring_sinks || end > ring_begin : Halide::Internal::const_true();
}

void CacheInputs::append_places_to(std::vector<Halide::Argument>& arguments) const {
  if (!is_cache(kind)) return;
  arguments.insert(arguments.end(),
                   {pages, page_shift, ring_sinks, ring_begin, ring_slot, ring_end});
  if (grid) arguments.insert(arguments.end(), {pool_pages, pages_start});
}

void CacheInputs::append_to(std::vector<Halide::Argument>& arguments) const {
  append_places_to(arguments);
  if (!is_quantised(kind)) return;
  arguments.insert(arguments.end(), {k_scale, v_scale, k_group_shift, v_group_shift});
  if (grid) arguments.insert(arguments.end(), {k_scale_start, v_scale_start});
}

}  // namespace fovea
