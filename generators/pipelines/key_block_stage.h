// key_block_stage.h: what is computed for one block of keys, as Funcs.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_KEY_BLOCK_STAGE_H
#define FOVEA_GENERATORS_PIPELINES_KEY_BLOCK_STAGE_H

#include <Halide.h>

#include <string>
#include <vector>

#include "generators/pipelines/block_rows.h"
#include "generators/pipelines/row_chain.h"
#include "generators/pipelines/tile_context.h"

namespace fovea {

// The query rows of the tile after all transforms: one form or the other.
struct QueryRows {
  Halide::Func scaled;  // (qi, d): times the scale
  Halide::Func pairs;   // (qi, feature pair): not scaled, which would round once more
  Halide::Func steps;   // (lane, qi, step): `scaled` by feature_lanes features; of tiles with
                        // product_rows only
};

QueryRows make_query_rows(const TileContext& context, RowChain& queries,
                          const std::function<Halide::Expr(std::vector<Halide::Expr>)>& stored);

// The least and the largest value that a table entry of the mask takes over the keys of a block
// (chunk-local block, chunk) or over the rows of the tile (no dimension; of a grid one of a single
// point, where a loop over threads can be).
struct EntryBounds {
  Halide::Func both;  // (least, largest)
  Halide::RDom range;
  Halide::Func
      entries;  // (qi): of a grid, the entries of the rows, which threads read side by side

  // Over the rows of the tile.
  Halide::FuncRef of_tile() const { return entries.defined() ? both(0) : both(); }
};

// The key blocks that a stage is responsible for.
//   closed form   one loop over all blocks whose bounds follow from the condition
//   by status     the condition depends on what tables hold for the keys of a block: chunks of
//                 blocks, for each of which a flag is computed first. Only so many are looked at
//                 at once, so that the flags have a constant size.
struct BlockLoop {
  Halide::RDom blocks;  // (block), or (block in chunk, chunk)
  Halide::Expr first;   // of the blocks that are looked at
  bool by_status = false;
  int chunk_size = 0;
  Halide::Func status;  // (block in chunk, chunk): 1 where the block is this stage's
  std::vector<EntryBounds> key_entries;

  Halide::Expr block() const;  // in terms of `blocks`
};

EntryBounds reduce_entry(const TileStatus::Bound& bound, const std::string& suffix,
                         const std::vector<Halide::Var>& arguments, const Halide::RDom& range,
                         const Halide::Expr& entry);
std::string entry_name(const TileStatus::Bound& bound, const std::string& suffix);

// A condition on a whole block of keys that reads what other Funcs store, as an algorithm of a grid
// writes it. By itself Halide asks it only where the state is stored, after all threads have
// computed the block; lowering/block_conditions.h asks it before.
inline constexpr const char* block_condition_name = "fovea_block_condition";
Halide::Expr block_condition(const Halide::Expr& condition);

// Which blocks a stage runs, and in what form.
BlockLoop make_block_loop(const TileContext& context, const std::string& name, bool partial);

// Entries of a table over (row, key) for the rows of the tile and a block of keys.
struct DenseTile {
  Halide::Func rows;       // (j, qi, block): as they lie in memory; keys that no row sees are left
                           // out, and are whatever was there
  Halide::RDom keys;       // of `rows`: (lane, vector)
  Halide::RDom last_keys;  // that fill no vector; undefined where there are none
  Halide::Func columns;    // (qi, j, block)
  Halide::Expr side_by_side;  // that neighbouring keys are neighbours in memory
};

// None of these Funcs mentions the state that blocks are merged into, so all of them can be
// computed inside its loop over the blocks.
struct KeyBlockStage {
  CachedBlock cached;
  RowChain keys, values;     // (d, j, block)
  Halide::Func key_pairs;    // (feature pair, j, block): of transformed keys; others are read where
                             // they lie
  Halide::Func value_pairs;  // (d, key pair, block)
  bool pairs_of_values = false;         // made of `values`, not of what is stored
  Halide::Func weight_pairs;            // (qi, key pair, block)
  std::vector<Halide::Func> diagonals;  // (qi - j + bk - 1, block): terms of the score
  std::vector<DenseTile> dense;         // of tables that mask and score ask
  // Decode: products are made for a vector of pairs, all rows of the tile by pair_keys keys.
  Halide::Func lane_sums;  // (lane, pair, vector, block): of every feature_lanes-th
                           // feature
  Halide::Func pair_sums;  // (pair, vector, block)
  Halide::Func product;    // (qi, j, block): <q, k>
  Halide::Func score;      // (qi, j, block): after the score chain; of a softmax in units of log2,
                           // and mask_score where the key is hidden
  Halide::Func maximum;    // (qi, block); softmax only
  Halide::Func weight;     // (qi, j, block): 2^(score - maximum), or the variant's own function
  Halide::Func sum;        // (qi, block)
  Halide::Func carried;    // (qi, j, block): weight * weight factor; defined if there is one
  Halide::Func weighted;   // (qi, d, block): accumulator of weight * value; features in the order
                           // of their places (feature_runs.h)
  Halide::Func block_out;  // (qi, d, block): the finished accumulator
  Halide::RDom features;   // of product; pairs of them where pairs are multiplied
  Halide::RDom lanes;      // of lane_sums
  Halide::RDom max_keys, sum_keys, value_keys;
  // In a partly visible block, the keys that every row sees, added first and without asking (where
  // pairs are multiplied, pairs of them), and those in front of them; value_keys are then those
  // behind. Undefined where there are none.
  Halide::RDom seen_value_keys, value_keys_in_front;
  BlockLoop loop;
};

// Funcs for the keys of one block, for the features of one slice.
KeyBlockStage make_key_block_stage(const TileContext& context, const std::string& name,
                                   const QueryRows& query, int slice, bool partial);

// The parts of it that the probabilities need too. `chain` is the variant's score chain or a form
// of it that the binder knows.
Halide::Expr score_at(const TileContext& context, const Halide::Expr& product,
                      BindDeclaration binder, const Halide::Expr& chain);
Halide::Expr visible_at(const TileContext& context, const Halide::Expr& row,
                        const Halide::Expr& key);
// The same with a binder for the pair and with a form of the mask that it knows.
Halide::Expr visible_at(const TileContext& context, const Halide::Expr& key, BindDeclaration binder,
                        const Halide::Expr& mask);
RowChain make_key_rows(const TileContext& context, const std::string& name, const BlockRows& rows);

}  // namespace fovea

#endif
