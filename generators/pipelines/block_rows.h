// block_rows.h: the keys or the values of a block, wherever the kernel finds them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_BLOCK_ROWS_H
#define FOVEA_GENERATORS_PIPELINES_BLOCK_ROWS_H

#include <Halide.h>

#include "generators/pipelines/cached_block.h"

namespace fovea {

// Key j of a block: its place in it, and its number.
Halide::Expr place_in_block(const TileContext& context, const Halide::Expr& key);
Halide::Expr key_at(const TileContext& context, const Halide::Expr& block_index,
                    const Halide::Expr& key);

// Key j of a block, but never one past the last: every tile of a block is computed whole, past the
// end it repeats the last key, and the mask hides it. Blocks that are known to be whole need no
// such care.
Halide::Expr key_row(const TileContext& context, const Halide::Expr& block_index,
                     const Halide::Expr& key, bool clamped);

class BlockRows {
 public:
  // Without `cached` a cache is asked again for each element.
  static BlockRows of_keys(const TileContext& context, bool clamped, CachedBlock cached);
  static BlockRows of_values(const TileContext& context, bool clamped, CachedBlock cached);

  int size() const { return size_; }  // features
  bool clamped() const { return clamped_; }
  // Whether elements are no numbers yet and are worth keeping once they are, if rows are used more
  // than once.
  bool is_narrow() const;

  // As it lies in memory; not for quantised caches.
  Halide::Expr stored(const Halide::Expr& feature, const Halide::Expr& key,
                      const Halide::Expr& block_index) const;
  // In f32, with its scale unless that is left to with_scale.
  Halide::Expr number(const Halide::Expr& feature, const Halide::Expr& key,
                      const Halide::Expr& block_index) const;
  // What belongs to a whole row, its product or its weight, times the scale that number() leaves
  // out; with tiling.scales_apart.
  Halide::Expr with_scale(const Halide::Expr& value, const Halide::Expr& key,
                          const Halide::Expr& block_index) const;
  // `value`, made of this element; and what lies at its place tiling.prefetch_blocks blocks later
  // is asked for.
  Halide::Expr and_ahead(const Halide::Expr& value, const Halide::Expr& feature,
                         const Halide::Expr& key, const Halide::Expr& block_index) const;

 private:
  BlockRows(const TileContext& context, bool values, bool clamped, CachedBlock cached);
  // Of k or v, or of their scales; `offsets` may be undefined.
  Halide::Expr offset_(const Halide::ImageParam& in, const Halide::Func& offsets,
                       const Halide::Expr& key, const Halide::Expr& block_index) const;
  Halide::Expr scale_(const Halide::Expr& group_index, const Halide::Expr& key,
                      const Halide::Expr& block_index) const;
  Halide::Expr has_one_scale_() const;
  Halide::Expr ahead_(const Halide::Expr& feature, const Halide::Expr& key,
                      const Halide::Expr& block_index) const;
  Halide::Expr stored_(const Halide::Expr& feature, const Halide::Expr& key,
                       const Halide::Expr& block_index) const;

  const TileContext& c_;
  bool values_, clamped_;
  int size_;
  CachedBlock cached_;
};

}  // namespace fovea

#endif
