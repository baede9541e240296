// prefill.h: the prefill algorithm of a variant, one block of query rows of one head, as named
// Halide Funcs. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_PREFILL_H
#define FOVEA_GENERATORS_PIPELINES_PREFILL_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <vector>

#include "generators/analysis/tile_status.h"

namespace fovea {

// Sizes that shape the algorithm itself. The schedule chooses them.
struct PrefillTiling {
  int d_qk = 0, d_v = 0;
  int block_rows = 0;  // bq: query rows of one work item
  int key_block = 0;   // bk: keys that share one maximum and one correction of the state
  int feature_group =
      0;  // features of the output kept next to each other in the state; divides d_v
};

// The arguments of the kernel, in the order of registry.h.
struct PrefillInputs {
  Halide::ImageParam q, k, v;  // (feature, row)
  Halide::Param<int> q_block, q_offset, q_len, kv_len, batch, head, kv_head;
  Halide::Param<float> scale;
  std::vector<Halide::Parameter> parameters;  // of the variant, in declaration order

  std::vector<Halide::Argument> arguments() const;
};

// What is computed for one block of keys before it is merged into the state. None of these Funcs
// mentions the state, so all of them can be computed inside its loop over the blocks.
struct KeyBlockStage {
  Halide::Func product;  // (qi, j, block): <q, k>
  Halide::Func score;  // (qi, j, block): after the score chain, in units of log2; hidden keys hold
                       // mask_score
  Halide::Func maximum;    // (qi, block)
  Halide::Func weight;     // (qi, j, block): 2^(score - maximum)
  Halide::Func sum;        // (qi, block)
  Halide::Func weighted;   // (qi, d, block): accumulator of weight * value
  Halide::Func block_out;  // (qi, d, block): the finished accumulator
  Halide::RDom features;   // of product
  Halide::RDom max_keys, sum_keys, value_keys;
  Halide::RDom blocks;  // of the state's update: the blocks this stage is responsible for
};

// out = softmax(scores) v for block_rows rows. The state is one Func over slots (o_0 … o_{G-1}, l,
// m) for each group of G features, updated by two stages: blocks that every row sees whole run
// without any mask code, partly visible ones with it. Blocks that no row sees belong to neither and
// are not run.
struct PrefillPipeline {
  PrefillTiling tiling;
  PrefillInputs inputs;
  Halide::Func query;  // (qi, d): scaled, transposed so that rows are vector lanes
  KeyBlockStage full, partial;
  bool has_full = true;  // false: the mask has no block that is provably visible whole
  Halide::Func state;    // (qi, slot, group)
  Halide::Func divisor;  // (qi): the sum of weights, 1 where there is none
  Halide::Func rows;     // (qi, d): normalised
  Halide::Func out;      // (d, qi)
  Halide::Func lse;      // (qi), undefined unless the variant returns it

  std::vector<Halide::Func> outputs() const;
};

// The tile status must belong to variant.mask() and to block_rows x key_block tiles.
PrefillPipeline make_prefill(const Variant& variant, const PrefillTiling& tiling,
                             const TileStatus& status);

}  // namespace fovea

#endif
