// tile_status.h: which key blocks a block of query rows has to visit, in closed form from the mask
// expression. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_ANALYSIS_TILE_STATUS_H
#define FOVEA_GENERATORS_ANALYSIS_TILE_STATUS_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <cstdint>
#include <string>
#include <vector>

#include "generators/analysis/key_range.h"

namespace fovea {

// Conditions (bool expressions) over the position variables other than q, k, the scalar parameters,
// and
//   q_first()   position of the first query row of the tile (block_rows rows follow each other)
//   q_offset()  position of row 0 of the sequence
//   k_block()   index of the key block (keys k_block * key_block …)
//   bounds      the least and the largest value of table entries
// Keys at or past kv_len are the caller's business: the conditions speak of the mask alone.
struct TileStatus {
  int block_rows = 0, key_block = 0;
  Halide::Expr live;  // false: no row of the tile sees any key of the block
  Halide::Expr full;  // true: every row sees every key
  // Over `k` instead of k_block:
  Halide::Expr live_key;  // false: no row of the tile sees key k
  Halide::Expr full_key;  // true: every row sees it
  // Of block k_block():
  KeyRange live_keys;  // all keys that some row sees
  KeyRange full_keys;  // only keys that every row sees

  // The entry is an expression over q, or over k (of_keys), and the position otherwise. low and
  // high are the Int(32) variables that stand for its extremes over the rows of the tile, or over
  // the keys of the block.
  struct Bound {
    std::string low, high;
    Halide::Expr entry;
    bool of_keys = false;
  };
  std::vector<Bound> bounds;

  // Why a condition fell back to its safe value ("every block is partial"), empty when the analysis
  // holds.
  std::string fallback;

  static Halide::Expr q_first();
  static Halide::Expr q_offset();
  static Halide::Expr k_block();
};

// The mask with the row of the query written as a position: q - q_offset().
Halide::Expr mask_by_position(const Variant& variant);

// What interval analysis makes of the mask. Not to be relied upon: Halide's solver is known to be
// unsound in places.
TileStatus derive_tile_status(const Variant& variant, int block_rows, int key_block);

// Compares the conditions with the mask itself, element by element, on small domains with random
// parameters (seeded: same answer in every build). A condition that is ever wrong is replaced by
// its safe value.
TileStatus check_tile_status(TileStatus status, const Variant& variant);

// Both: conditions that were derived and hold.
TileStatus tile_status(const Variant& variant, int block_rows, int key_block);

}  // namespace fovea

#endif
