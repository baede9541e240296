// cache_inputs.h: what kernels with a KV cache take besides the rows themselves.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_CACHE_INPUTS_H
#define FOVEA_GENERATORS_PIPELINES_CACHE_INPUTS_H

#include <Halide.h>

#include <vector>

#include "generators/pipelines/cache_kind.h"

namespace fovea {

// Where a key and its value lie: in which slot, and with a cache in which page of it.
struct KeyPlace {
  Halide::Expr slot, page;
};

// The arguments between scale and the parameters, in the order of registry.h.
struct CacheInputs {
  CacheKind kind = CacheKind::None;
  Halide::ImageParam pages;
  Halide::Param<int> page_shift, ring_sinks, ring_begin, ring_slot, ring_end;
  Halide::ImageParam k_scale, v_scale;
  Halide::Param<int> k_group_shift, v_group_shift;

  KeyPlace place_of(const Halide::Expr& key) const;

  // Keys that a ring has given up lie between its sinks and its window. A key, and a block of keys
  // of which none is missing or any is left; true without a cache.
  Halide::Expr holds(const Halide::Expr& key) const;
  Halide::Expr holds_all(const Halide::Expr& first, const Halide::Expr& end) const;
  Halide::Expr holds_any(const Halide::Expr& first, const Halide::Expr& end) const;

  void append_to(std::vector<Halide::Argument>& arguments) const;
};

CacheInputs make_cache_inputs(CacheKind kind);

}  // namespace fovea

#endif
