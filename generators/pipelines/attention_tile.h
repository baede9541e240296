// attention_tile.h: the rows of a tile and all their keys, added up block by block: rows are the
// lanes of a CPU, or are dealt out to the threads of a device.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_ATTENTION_TILE_H
#define FOVEA_GENERATORS_PIPELINES_ATTENTION_TILE_H

#include <Halide.h>

#include <string>
#include <vector>

#include "generators/pipelines/finished_rows.h"
#include "generators/pipelines/key_block_stage.h"

namespace fovea {

// Weights and weighted values of one slice of features (of all of them, if the variant has no
// slices).
struct AttentionState {
  KeyBlockStage full, partial;
  Halide::Func state;  // (qi, slot, group)
};

// The state is one Func over slots (o_0 … o_{G-1}, l, m) for each group of G features (no m where
// weights are no softmax), updated by two stages: blocks that every row sees whole run without any
// mask code, partly visible ones with it. Blocks that no row sees belong to neither and are not
// run.
struct AttentionTile {
  AttentionTiling tiling;
  RowChain queries;  // (qi, d)
  QueryRows query;
  std::vector<EntryBounds> row_entries;  // bounds of table entries over the rows of the tile
  bool has_full = true;  // false: the mask has no block that is provably visible whole
  std::vector<AttentionState> states;  // one for each slice

  // What is known of each slice's row when all keys have been seen.
  std::vector<RowSums> sums() const;
};

// Fills has_full and states; the query rows are there. start: of slot `slot` of row `qi`.
void build_states(AttentionTile& tile, const TileContext& context, const Halide::Expr& start);

// The start where no key has been seen.
Halide::Expr state_without_keys(const TileContext& context);

// Bounds over the rows of the tile of the mask's table entries that depend on the query. last_row:
// of the tile; rows past it repeat it.
std::vector<EntryBounds> bounds_of_rows(const TileContext& context, const Halide::Expr& last_row);
// They take their places in conditions.
void bind_bounds(BindDeclaration& bind, const TileStatus& status,
                 const std::vector<EntryBounds>& row_entries);

// Halide gives memory that blocks of threads share to another Func after the last use of the first
// one, and does not see that a loop around both comes back to it. What is used inside the loops
// over blocks is therefore used once more after them, under a condition that never holds.
Halide::Expr still_used(const AttentionTile& tile, const Halide::Expr& never,
                        const Halide::Expr& value);

}  // namespace fovea

#endif
