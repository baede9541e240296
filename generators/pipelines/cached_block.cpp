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

// Where the first of as many neighbouring keys as make a vector lies, if they are neighbours.
KeyPlace first_place(const TileContext& c, const Expr& key) {
  const CacheInputs& cache = c.inputs.cache;
  return {cache.slot_in_page(key), cache.page_of(key, c.inputs.batch)};
}

// not_needed: of straight keys; may be undefined.
KeyOffsets make_offsets(const TileContext& c, const std::string& name, bool clamped,
                        const Halide::ImageParam& slots, bool ahead = false,
                        const Expr& not_needed = Expr()) {
  const CacheInputs& cache = c.inputs.cache;
  const int unit = c.tiling.vector_lanes;
  const auto key_of = [&](const Expr& in_block) {
    // Not a number of keys added to those of this block: the simplifier would move such a constant
    // across the comparison with the end of a ring, which overflows where there is no end.
    const Expr key = (ahead ? c.later_block(block) : Expr(block)) * c.tiling.key_block + in_block;
    return clamped ? Halide::min(key, c.inputs.kv_len - 1) : key;
  };
  KeyOffsets offsets;
  offsets.f = Func(name);
  // The page of the first of `unit` keys is that of all of them. Where it is not, a ring may have
  // no such slot.
  const Expr sequence = c.inputs.batch, head = c.kv_head();
  const auto straight = [&](const Expr& in_block) {
    const Expr first = Halide::select(cache.is_straight(unit), key_of(in_block / unit * unit), 0);
    return offset_of(slots, {cache.slot_in_page(key_of(in_block)), cache.page_of(first, sequence)},
                     head);
  };
  if (not_needed.defined()) {
    offsets.f(j, block) = Halide::undef<int64_t>();
    offsets.straight = RDom(0, c.tiling.key_block, name + "_straight");
    offsets.straight.where(cache.is_straight(unit) && !not_needed);
    offsets.f(offsets.straight.x, block) = straight(offsets.straight.x);
  } else {
    offsets.f(j, block) = straight(j);
  }
  offsets.scattered = RDom(0, c.tiling.key_block, name + "_scattered");
  offsets.scattered.where(!cache.is_straight(unit));
  const Expr& r = offsets.scattered.x;
  offsets.f(r, block) = offset_of(slots, cache.place_of(key_of(r), sequence), head);
  return offsets;
}

void make_scales(const TileContext& c, const std::string& name, bool clamped, bool of_values,
                 CachedRows& rows) {
  const CacheInputs& cache = c.inputs.cache;
  const Halide::ImageParam& scales = of_values ? cache.v_scale : cache.k_scale;
  const int unit = c.tiling.vector_lanes, key_block = c.tiling.key_block;
  const std::string offsets = name + "_scale_offsets";
  rows.most_groups = std::max(1, (of_values ? c.tiling.d_v : c.tiling.d_qk) / scale_unit);
  rows.scale = Func(name + "_scales");
  const auto entry = [&](const Expr& in_block) {
    return scale_entry(c, of_values, group, rows.scales.f(in_block, block));
  };
  if (clamped) {
    rows.scales = make_offsets(c, offsets, clamped, scales);
    rows.scale(group, j, block) = entry(j);
    return;
  }
  const Expr neighbours = cache.is_straight(unit) && scales.dim(2).stride() == 1;
  rows.scales = make_offsets(c, offsets, clamped, scales, false, neighbours);
  rows.scale(group, j, block) = Halide::undef<float>();
  rows.apart = RDom(0, key_block, name + "_apart");
  rows.apart.where(!neighbours);
  rows.scale(group, rows.apart.x, block) = entry(rows.apart.x);
  rows.side_by_side = RDom(0, key_block, name + "_side_by_side");
  rows.side_by_side.where(neighbours);
  const Expr in_block = rows.side_by_side.x, first = in_block / unit * unit;
  const Expr offset = offset_of(scales, first_place(c, block * key_block + first), c.kv_head());
  rows.scale(group, in_block, block) = scale_entry(c, of_values, group, offset, in_block - first);
}

CachedRows make_rows(const TileContext& c, const std::string& name, bool clamped, bool of_values) {
  CachedRows rows;
  const CacheInputs& cache = c.inputs.cache;
  const Halide::ImageParam& slots = of_values ? c.inputs.v : c.inputs.k;
  rows.rows = make_offsets(c, name + "_offsets", clamped, slots);
  if (c.tiling.prefetch_blocks > 0)
    rows.ahead = make_offsets(c, name + "_ahead", true, slots, true);
  if (!is_quantised(cache.kind)) return rows;
  make_scales(c, name, clamped, of_values, rows);
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

Expr scale_entry(const TileContext& c, bool of_values, const Expr& group_index, const Expr& offset,
                 const Expr& elements_on) {
  const CacheInputs& cache = c.inputs.cache;
  const Expr scale =
      widen(slot_entry(of_values ? cache.v_scale : cache.k_scale, group_index, offset, elements_on),
            Element::F16);
  const float factor = number_factor(cache.kind);
  return factor == 1.0f ? scale : scale * factor;
}

}  // namespace fovea
