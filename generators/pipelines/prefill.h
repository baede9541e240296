// prefill.h: the prefill algorithm of a variant, one block of query rows of one head, as named
// Halide Funcs. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_PREFILL_H
#define FOVEA_GENERATORS_PIPELINES_PREFILL_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <map>
#include <string>
#include <vector>

#include "generators/analysis/tile_status.h"
#include "generators/pipelines/element.h"
#include "generators/pipelines/row_chain.h"

namespace fovea {

// Sizes that shape the algorithm itself. The schedule chooses them.
struct PrefillTiling {
  Element element = Element::F32;  // of q, k, v and out
  int d_qk = 0, d_v = 0;
  int block_rows = 0;  // bq: query rows of one work item
  int key_block = 0;   // bk: keys that share one maximum and one correction of the state
  int feature_group =
      0;  // features of the output kept next to each other in the state; divides d_v
  // Products of bf16 pairs by the target's own instruction: of queries and keys, and in blocks that
  // are visible whole of weights and values. Else 16-bit keys and values are widened, a block at a
  // time, and everything is as in f32.
  bool dot_pairs = false;
};

// The arguments of the kernel, in the order of registry.h.
struct PrefillInputs {
  Halide::ImageParam q, k, v;  // (feature, row)
  Halide::Param<int> q_block, q_offset, q_len, kv_len, batch, head, kv_head;
  Halide::Param<float> scale;
  std::vector<Halide::Parameter> parameters;  // of the variant, in declaration order

  std::vector<Halide::Argument> arguments() const;
};

PrefillInputs make_prefill_inputs(const Variant& variant, const PrefillTiling& tiling);

// The query rows of the tile after all transforms, transposed so that rows are vector lanes: one
// form or the other.
struct QueryRows {
  Halide::Func scaled;  // (qi, d): times the scale
  Halide::Func pairs;   // (qi, feature pair): not scaled, which would round once more
};

// The least and the largest value that a table entry of the mask takes over the keys of a block
// (key, chunk-local block, chunk) or over the rows of the tile (no dimension).
struct EntryBounds {
  Halide::Func low, high;
  Halide::RDom range;
};

// The key blocks that a stage is responsible for.
//   closed form   one loop over all blocks whose bounds follow from the condition
//   by status     the condition depends on what tables hold for the keys of a block: chunks of
//                 blocks, for each of which a flag is computed first. Only so many are looked at
//                 at once, so that the flags have a constant size.
struct BlockLoop {
  Halide::RDom blocks;  // (block), or (block in chunk, chunk)
  bool by_status = false;
  Halide::Func status;  // (block in chunk, chunk): 1 where the block is this stage's
  std::vector<EntryBounds> key_entries;

  Halide::Expr block() const;  // in terms of `blocks`
};

// What is computed for one block of keys before it is merged into the state. None of these Funcs
// mentions the state, so all of them can be computed inside its loop over the blocks.
struct KeyBlockStage {
  RowChain keys, values;     // (d, j, block)
  Halide::Func key_pairs;    // (feature pair, j, block): of transformed keys; others are read where
                             // they lie
  Halide::Func value_pairs;  // (d, key pair, block)
  Halide::Func weight_pairs;            // (qi, key pair, block)
  std::vector<Halide::Func> diagonals;  // (qi - j + bk - 1, block): terms of the score
  Halide::Func product;                 // (qi, j, block): <q, k>
  Halide::Func score;      // (qi, j, block): after the score chain; of a softmax in units of log2,
                           // and mask_score where the key is hidden
  Halide::Func maximum;    // (qi, block); softmax only
  Halide::Func weight;     // (qi, j, block): 2^(score - maximum), or the variant's own function
  Halide::Func sum;        // (qi, block)
  Halide::Func carried;    // (qi, j, block): weight * weight factor; defined if there is one
  Halide::Func weighted;   // (qi, d, block): accumulator of weight * value
  Halide::Func block_out;  // (qi, d, block): the finished accumulator
  Halide::RDom features;   // of product; pairs of them where pairs are multiplied
  Halide::RDom max_keys, sum_keys, value_keys;
  BlockLoop loop;
};

// Weights and weighted values of one slice of features (of all of them, if the variant has no
// slices).
struct AttentionState {
  KeyBlockStage full, partial;
  Halide::Func state;    // (qi, slot, group)
  Halide::Func divisor;  // (qi); undefined where nothing is divided by
  Halide::Func rows;     // (qi, d): normalised
};

// out = normalised weights times values for block_rows rows. The state is one Func over slots (o_0
// … o_{G-1}, l, m) for each group of G features (no m where weights are no softmax), updated by two
// stages: blocks that every row sees whole run without any mask code, partly visible ones with it.
// Blocks that no row sees belong to neither and are not run.
struct PrefillPipeline {
  PrefillTiling tiling;
  PrefillInputs inputs;
  RowChain queries;  // (qi, d)
  QueryRows query;
  std::vector<EntryBounds> row_entries;  // bounds of table entries over the rows of the tile
  bool has_full = true;  // false: the mask has no block that is provably visible whole
  std::vector<AttentionState> states;  // one for each slice
  Halide::Func combined;               // (qi, d): of the slices; undefined with one
  RowChain output_rows;                // (qi, d)
  Halide::Func out;                    // (d, qi)
  Halide::Func lse, row_max, row_sum;  // (qi), each undefined unless the variant returns it

  // Probabilities, if the variant returns them: every key is scored once more.
  RowChain inspected_keys;                           // (d, j, block)
  Halide::Func inspected_product, inspected_weight;  // (qi, j, block)
  Halide::RDom inspected_features;
  Halide::Func probabilities;  // (k, qi)

  // out, then the extra outputs in the order of registry.h.
  std::vector<Halide::Func> outputs() const;
};

// The tile status must belong to variant.mask() and to block_rows x key_block tiles.
PrefillPipeline make_prefill(const Variant& variant, const PrefillTiling& tiling,
                             const TileStatus& status);

}  // namespace fovea

#endif
