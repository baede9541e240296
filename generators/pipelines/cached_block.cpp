// cached_block.cpp: offsets by pages of whole vectors, and by single keys.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/cached_block.h"

#include <algorithm>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;

KeyOffsets make_offsets(const TileContext& c, const std::string& name, bool clamped,
                        const Halide::ImageParam& slots, int blocks_ahead = 0) {
  const CacheInputs& cache = c.inputs.cache;
  const int unit = c.tiling.vector_lanes;
  const auto key_of = [&](const Expr& in_block) {
    // Not a number of keys added to those of this block: the simplifier would move such a constant
    // across the comparison with the end of a ring, which overflows where there is no end.
    const Expr last = (c.inputs.kv_len - 1) / c.tiling.key_block;
    const Expr at = blocks_ahead > 0 ? Halide::min(block + blocks_ahead, last) : Expr(block);
    const Expr key = at * c.tiling.key_block + in_block;
    return clamped ? Halide::min(key, c.inputs.kv_len - 1) : key;
  };
  KeyOffsets offsets;
  offsets.f = Func(name);
  // The page of the first of `unit` keys is that of all of them. Where it is not, a ring may have
  // no such slot.
  const Expr first = Halide::select(cache.is_straight(unit), key_of(j / unit * unit), 0);
  const Expr sequence = c.inputs.batch, head = c.kv_head();
  offsets.f(j, block) =
      offset_of(slots, {cache.slot_in_page(key_of(j)), cache.page_of(first, sequence)}, head);
  offsets.scattered = RDom(0, c.tiling.key_block, name + "_scattered");
  offsets.scattered.where(!cache.is_straight(unit));
  const Expr& r = offsets.scattered.x;
  offsets.f(r, block) = offset_of(slots, cache.place_of(key_of(r), sequence), head);
  return offsets;
}

CachedRows make_rows(const TileContext& c, const std::string& name, bool clamped, bool of_values) {
  CachedRows rows;
  const CacheInputs& cache = c.inputs.cache;
  const Halide::ImageParam& slots = of_values ? c.inputs.v : c.inputs.k;
  rows.rows = make_offsets(c, name + "_offsets", clamped, slots);
  if (c.tiling.prefetch_blocks > 0)
    rows.ahead = make_offsets(c, name + "_ahead", true, slots, c.tiling.prefetch_blocks);
  if (!is_quantised(cache.kind)) return rows;
  rows.scales =
      make_offsets(c, name + "_scale_offsets", clamped, of_values ? cache.v_scale : cache.k_scale);
  rows.most_groups = std::max(1, (of_values ? c.tiling.d_v : c.tiling.d_qk) / scale_unit);
  rows.scale = Func(name + "_scales");
  rows.scale(group, j, block) = scale_entry(c, of_values, group, rows.scales.f(j, block));
  return rows;
}

}  // namespace

CachedBlock make_cached_block(const TileContext& c, const std::string& name, bool clamped) {
  if (!is_cache(c.tiling.cache)) return {};
  if (c.tiling.grid) {
    CachedBlock cached;
    const Expr key = block * c.tiling.key_block + j;
    const KeyPlace place = c.inputs.cache.place_of(
        clamped ? Halide::min(key, c.inputs.kv_len - 1) : key, c.inputs.batch);
    cached.places = Func("places_" + name);
    cached.places(j, block) = {place.slot, place.page};
    return cached;
  }
  return {make_rows(c, "key_" + name, clamped, false),
          make_rows(c, "value_" + name, clamped, true),
          {}};
}

Expr scale_group(const TileContext& c, bool of_values, const Expr& feature) {
  const CacheInputs& cache = c.inputs.cache;
  const int unit = c.tiling.read_unit(of_values ? c.tiling.d_v : c.tiling.d_qk);
  const Expr shift =
      shift_of(c.tiling.grid, of_values ? Expr(cache.v_group_shift) : Expr(cache.k_group_shift));
  const Halide::ImageParam& scales = of_values ? cache.v_scale : cache.k_scale;
  return Halide::unsafe_promise_clamped((feature / unit * unit / scale_unit) >> shift, 0,
                                        scales.dim(0).extent() - 1);
}

Expr scale_entry(const TileContext& c, bool of_values, const Expr& group_index,
                 const Expr& offset) {
  const CacheInputs& cache = c.inputs.cache;
  const Expr scale = widen(
      slot_entry(of_values ? cache.v_scale : cache.k_scale, group_index, offset), Element::F16);
  const float factor = number_factor(cache.kind);
  return factor == 1.0f ? scale : scale * factor;
}

}  // namespace fovea
