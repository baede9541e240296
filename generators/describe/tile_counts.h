// tile_counts.h: how many key blocks a call would run, from the conditions of the tile analysis.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_TILE_COUNTS_H
#define FOVEA_GENERATORS_DESCRIBE_TILE_COUNTS_H

#include <fovea/dsl/reference.h>
#include <fovea/dsl/variant.h>

#include <cstdint>
#include <string>

#include "generators/analysis/tile_status.h"

namespace fovea {

// One key block for one block of query rows is one tile.
struct TileCounts {
  int block_rows = 0, key_block = 0;
  int64_t tiles = 0;                           // of the whole call: every sequence and query head
  int64_t full = 0, partial = 0, skipped = 0;  // as the kernel runs them

  // What the mask itself would allow, pair by pair; not counted (false) where that takes long.
  bool has_best = false;
  int64_t best_full = 0, best_partial = 0, best_skipped = 0;

  // Why the counts are those of a kernel that takes every tile for partial; empty if they are not.
  std::string unknown;
};

TileCounts count_tiles(const Variant& variant, const TileStatus& status,
                       const ParameterValues& values, const ExampleShape& shape);

}  // namespace fovea

#endif
