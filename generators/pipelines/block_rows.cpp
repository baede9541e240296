// block_rows.cpp: rows as they are, rows of a cache, numbers with scales.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/block_rows.h"

#include <stdexcept>
#include <utility>

#include "generators/lowering/fetch_ahead.h"

namespace fovea {

using namespace tile_vars;
using Halide::Expr;
using Halide::Func;

Expr place_in_block(const TileContext& c, const Expr& key) {
  const int streams = c.tiling.key_streams;
  return streams == 1 ? key : key % streams * (c.tiling.key_block / streams) + key / streams;
}

Expr key_at(const TileContext& c, const Expr& block_index, const Expr& key) {
  return block_index * c.tiling.key_block + place_in_block(c, key);
}

Expr key_row(const TileContext& c, const Expr& block_index, const Expr& key, bool clamped) {
  const Expr at = key_at(c, block_index, key);
  return clamped ? Halide::min(at, c.inputs.kv_len - 1) : at;
}

BlockRows::BlockRows(const TileContext& context, bool values, bool clamped, CachedBlock cached)
    : c_(context),
      values_(values),
      clamped_(clamped),
      size_(values ? context.tiling.d_v : context.tiling.d_qk),
      cached_(std::move(cached)) {}

BlockRows BlockRows::of_keys(const TileContext& context, bool clamped, CachedBlock cached) {
  return {context, false, clamped, std::move(cached)};
}

BlockRows BlockRows::of_values(const TileContext& context, bool clamped, CachedBlock cached) {
  return {context, true, clamped, std::move(cached)};
}

bool BlockRows::is_narrow() const {
  return c_.tiling.element != Element::F32 || is_quantised(c_.tiling.cache);
}

Expr BlockRows::offset_(const Halide::ImageParam& in, const Func& offsets, const Expr& key,
                        const Expr& block_index) const {
  if (offsets.defined()) return offsets(place_in_block(c_, key), block_index);
  if (cached_.places.defined()) {
    const Halide::FuncRef place = cached_.places(key, block_index);
    return offset_of(in, {place[0], place[1]}, c_.kv_head());
  }
  return offset_of(
      in, c_.inputs.cache.place_of(key_row(c_, block_index, key, clamped_), c_.inputs.batch),
      c_.kv_head());
}

Expr BlockRows::stored_(const Expr& feature, const Expr& key, const Expr& block_index) const {
  const Halide::ImageParam& in = values_ ? c_.inputs.v : c_.inputs.k;
  if (!is_cache(c_.tiling.cache)) {
    const Expr row = key_row(c_, block_index, key, clamped_);
    return c_.tiling.grid ? in(feature, row, c_.kv_head(), c_.sequence()) : in(feature, row);
  }
  const Func& offsets = values_ ? cached_.values.rows.f : cached_.keys.rows.f;
  return slot_entry(in, feature, offset_(in, offsets, key, block_index));
}

Expr BlockRows::stored(const Expr& feature, const Expr& key, const Expr& block_index) const {
  if (is_quantised(c_.tiling.cache))
    throw std::logic_error("what a quantised cache stores has no type of its own");
  return stored_(feature, key, block_index);
}

Expr BlockRows::number(const Expr& feature, const Expr& key, const Expr& block_index) const {
  if (!is_quantised(c_.tiling.cache))
    return widen(stored_(feature, key, block_index), c_.tiling.element);
  const CacheInputs& cache = c_.inputs.cache;
  const int unit = c_.tiling.read_unit(size_);
  const Expr number = quantised_number(cache.kind, feature, unit, [&](const Expr& element) {
    return stored_(element, key, block_index);
  });
  const Expr scale = scale_(scale_group(c_, values_, feature), key, block_index);
  return number * (c_.tiling.scales_apart ? Halide::select(has_one_scale_(), 1.0f, scale) : scale);
}

Expr BlockRows::scale_(const Expr& group_index, const Expr& key, const Expr& block_index) const {
  const CachedRows& rows = values_ ? cached_.values : cached_.keys;
  if (rows.scale.defined()) return rows.scale(group_index, place_in_block(c_, key), block_index);
  const Halide::ImageParam& scales = values_ ? c_.inputs.cache.v_scale : c_.inputs.cache.k_scale;
  return scale_entry(c_, values_, group_index, offset_(scales, Func(), key, block_index));
}

Expr BlockRows::has_one_scale_() const {
  return values_ ? c_.inputs.cache.has_one_value_scale() : c_.inputs.cache.has_one_key_scale();
}

Expr BlockRows::with_scale(const Expr& value, const Expr& key, const Expr& block_index) const {
  if (!c_.tiling.scales_apart) return value;
  return value * Halide::select(has_one_scale_(), scale_(0, key, block_index), 1.0f);
}

// Any element of the same line of memory will do. Rows may end before: nothing is read.
Expr BlockRows::ahead_(const Expr& feature, const Expr& key, const Expr& block_index) const {
  const Halide::ImageParam& in = values_ ? c_.inputs.v : c_.inputs.k;
  const Expr element = is_quantised(c_.tiling.cache)
                           ? feature * stored_size(size_, c_.tiling.cache) / size_
                           : feature;
  if (!is_cache(c_.tiling.cache))
    return in(element, key_row(c_, c_.later_block(block_index), key, false));
  const Func& offsets = values_ ? cached_.values.ahead.f : cached_.keys.ahead.f;
  return slot_entry(in, element, offsets(place_in_block(c_, key), block_index));
}

Expr BlockRows::and_ahead(const Expr& value, const Expr& feature, const Expr& key,
                          const Expr& block_index) const {
  if (c_.tiling.prefetch_blocks == 0) return value;
  return fetch_ahead(value, Halide::cast<float>(ahead_(feature, key, block_index)));
}

}  // namespace fovea
