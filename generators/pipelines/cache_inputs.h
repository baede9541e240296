// cache_inputs.h: what kernels with a KV cache take besides the rows themselves.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_CACHE_INPUTS_H
#define FOVEA_GENERATORS_PIPELINES_CACHE_INPUTS_H

#include <Halide.h>

#include <string>
#include <vector>

#include "generators/pipelines/cache_kind.h"

namespace fovea {

// k_group_shift and v_group_shift of rows with a single scale.
inline constexpr int one_group = 26;

// Where a key and its value lie in a cache.
struct KeyPlace {
  Halide::Expr slot, page;  // slot of the page
};

// Rows of a cache, or their scales: (feature, 0, slot, page), of a grid (feature, 0, slot, page, KV
// head). Their offsets are computed apart and in 64 bits: dimension 1 takes them, its stride is 1
// (lowering/wide_offsets.h).
Halide::ImageParam make_slots(const Halide::Type& type, const std::string& name, bool grid);
// kv_head: of a grid; else k and v are those of one.
Halide::Expr offset_of(const Halide::ImageParam& slots, const KeyPlace& place,
                       const Halide::Expr& kv_head);
// elements_on: from there, next to each other.
Halide::Expr slot_entry(const Halide::ImageParam& slots, const Halide::Expr& feature,
                        const Halide::Expr& offset, const Halide::Expr& elements_on = 0);

// The arguments before the parameters, in the order of registry.h.
struct CacheInputs {
  CacheKind kind = CacheKind::None;
  bool grid = false;
  Halide::ImageParam pages;  // (page of the sequence), of a grid (page of the sequence, sequence)
  Halide::Param<int> page_shift, ring_sinks, ring_begin, ring_slot, ring_end;
  Halide::ImageParam k_scale, v_scale;
  Halide::Param<int> k_group_shift, v_group_shift;
  // Of a grid: pages of the pool, 0: none, sequences lie where pages would; the elements at which
  // table and scales begin.
  Halide::Param<int> pool_pages;
  Halide::Param<int64_t> pages_start, k_scale_start, v_scale_start;

  // sequence: of a grid, for pages are those of one sequence otherwise.
  KeyPlace place_of(const Halide::Expr& key, const Halide::Expr& sequence) const;
  // Whether `unit` keys from a multiple of it on always lie in neighbouring slots of one page; then
  // a key is in this slot of this page.
  Halide::Expr is_straight(int unit) const;
  Halide::Expr slot_in_page(const Halide::Expr& slot) const;
  Halide::Expr page_of(const Halide::Expr& slot, const Halide::Expr& sequence) const;
  // Of a grid: whether the entry for a key's slot is a page of the pool.
  Halide::Expr has_page(const Halide::Expr& key, const Halide::Expr& sequence) const;

  // Of a quantised cache: whether a row has a single scale. (Equations, so that the number is known
  // where they hold.)
  Halide::Expr has_one_key_scale() const;
  Halide::Expr has_one_value_scale() const;

  // Keys that a ring has given up lie between its sinks and its window. A key, and a block of keys
  // of which none is missing or any is left; true without a cache.
  Halide::Expr holds(const Halide::Expr& key) const;
  Halide::Expr holds_all(const Halide::Expr& first, const Halide::Expr& end) const;
  Halide::Expr holds_any(const Halide::Expr& first, const Halide::Expr& end) const;

  void append_to(std::vector<Halide::Argument>& arguments) const;
  void append_places_to(std::vector<Halide::Argument>& arguments) const;  // without scales

 private:
  Halide::Expr slot_of_(const Halide::Expr& key) const;
  Halide::Expr entry_(const Halide::Expr& slot, const Halide::Expr& sequence) const;
};

CacheInputs make_cache_inputs(CacheKind kind, bool grid);

// A number of bits to shift by: of a signed one Halide asks GPUs for its sign with every use.
Halide::Expr shift_of(bool grid, const Halide::Expr& bits);

}  // namespace fovea

#endif
