// cached_block.h: where the keys and values of a block lie in a cache, and their scales, as Funcs:
// found once for a block and not for every element.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_CACHED_BLOCK_H
#define FOVEA_GENERATORS_PIPELINES_CACHED_BLOCK_H

#include <Halide.h>

#include <string>
#include <vector>

#include "generators/pipelines/tile_context.h"

namespace fovea {

// Offsets (key of the block, block), int64. Neighbouring keys lie in one page and in slots next to
// each other unless pages are very small or there is a ring: for those, `scattered` runs over all
// keys once more and asks the block table for each.
struct KeyOffsets {
  Halide::Func f;
  Halide::RDom straight;  // undefined if the Func itself is that of all keys
  Halide::RDom scattered;
};

struct CachedRows {
  KeyOffsets rows;
  KeyOffsets ahead;   // of the block that is asked for; undefined if none is
  KeyOffsets scales;  // undefined unless the cache is quantised
  // (group, key of the block, block), f32. Where neighbouring slots have their scales next to each
  // other, those of a vector of keys are read at once, without an offset for each (side_by_side
  // runs over all keys, else apart does); both undefined where a vector may reach past the last
  // key.
  Halide::Func scale;
  Halide::RDom side_by_side, apart;
  int most_groups = 1;
};

struct CachedBlock {
  CachedRows keys, values;  // undefined without a cache, and of a grid
  // Of a grid, (key of the block, block): the slot and the page, from which threads make the
  // offsets of keys, values and scales. Offsets would take four times the shared memory.
  Halide::Func places;
  bool is_defined() const { return keys.rows.f.defined(); }
};

CachedBlock make_cached_block(const TileContext& context, const std::string& name, bool clamped);

// The group of a feature, within those that there are.
Halide::Expr scale_group(const TileContext& context, bool of_values, const Halide::Expr& feature);
// A scale in f32, as quantised_number wants it.
Halide::Expr scale_entry(const TileContext& context, bool of_values, const Halide::Expr& group,
                         const Halide::Expr& offset, const Halide::Expr& elements_on = 0);

}  // namespace fovea

#endif
