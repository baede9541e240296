// block_rows.cpp: rows as they are, rows of a cache, numbers with scales.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/block_rows.h"

#include <utility>

namespace fovea {

using namespace tile_vars;
using Halide::Expr;
using Halide::Func;

Expr key_at(const TileContext& c, const Expr& block_index, const Expr& key) {
  const int bk = c.tiling.key_block, streams = c.tiling.key_streams;
  const Expr first = block_index * bk;
  if (streams == 1) return first + key;
  return first + key % streams * (bk / streams) + key / streams;
}

Expr key_row(const TileContext& c, const Expr& block_index, const Expr& key, bool clamped) {
  const Expr at = key_at(c, block_index, key);
  return clamped ? Halide::min(at, c.inputs.kv_len - 1) : at;
}

KeyPlaces make_key_places(const TileContext& c, const std::string& name, bool clamped) {
  if (!is_cache(c.tiling.cache)) return {};
  const KeyPlace place = c.inputs.cache.place_of(key_row(c, block, j, clamped));
  KeyPlaces places{Func("slots_" + name), Func("pages_" + name)};
  places.slot(j, block) = place.slot;
  places.page(j, block) = place.page;
  return places;
}

BlockRows::BlockRows(const TileContext& context, bool values, bool clamped, KeyPlaces places)
    : c_(context),
      values_(values),
      clamped_(clamped),
      size_(values ? context.tiling.d_v : context.tiling.d_qk),
      places_(std::move(places)) {}

BlockRows BlockRows::of_keys(const TileContext& context, bool clamped, KeyPlaces places) {
  return {context, false, clamped, std::move(places)};
}

BlockRows BlockRows::of_values(const TileContext& context, bool clamped, KeyPlaces places) {
  return {context, true, clamped, std::move(places)};
}

bool BlockRows::is_narrow() const {
  return c_.tiling.element != Element::F32 || is_quantised(c_.tiling.cache);
}

KeyPlace BlockRows::place_(const Expr& key, const Expr& block_index) const {
  if (places_.slot.defined())
    return {places_.slot(key, block_index), places_.page(key, block_index)};
  return c_.inputs.cache.place_of(key_row(c_, block_index, key, clamped_));
}

Expr BlockRows::read_(const Halide::ImageParam& in, const Expr& feature,
                      const KeyPlace& place) const {
  if (!place.page.defined()) return in(feature, place.slot);
  const auto within = [&](const Expr& e, int dimension) {
    return Halide::unsafe_promise_clamped(e, 0, in.dim(dimension).extent() - 1);
  };
  return in(feature, within(place.slot, 1), within(place.page, 2));
}

Expr BlockRows::stored(const Expr& feature, const Expr& key, const Expr& block_index) const {
  const KernelInputs& in = c_.inputs;
  return read_(values_ ? in.v : in.k, feature, place_(key, block_index));
}

Expr BlockRows::number(const Expr& feature, const Expr& key, const Expr& block_index) const {
  if (!is_quantised(c_.tiling.cache)) return widen(stored(feature, key, block_index));
  const CacheInputs& cache = c_.inputs.cache;
  const KeyPlace place = place_(key, block_index);
  const Halide::ImageParam& rows = values_ ? c_.inputs.v : c_.inputs.k;
  const int unit = c_.tiling.read_unit(size_);
  const Expr number = quantised_number(
      cache.kind, feature, unit, [&](const Expr& element) { return read_(rows, element, place); });
  const Halide::ImageParam& scales = values_ ? cache.v_scale : cache.k_scale;
  const Expr shift = values_ ? Expr(cache.v_group_shift) : Expr(cache.k_group_shift);
  const Expr group = (feature / unit * unit / scale_unit) >> shift;
  return number *
         widen(read_(scales, Halide::unsafe_promise_clamped(group, 0, scales.dim(0).extent() - 1),
                     place));
}

}  // namespace fovea
