// prefill.h: the prefill algorithm of a variant, one block of query rows of one head, as named
// Halide Funcs. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_PREFILL_H
#define FOVEA_GENERATORS_PIPELINES_PREFILL_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <vector>

#include "generators/pipelines/attention_tile.h"

namespace fovea {

// The arguments of the kernel, in the order of registry.h; q is (feature, row).
struct PrefillInputs : KernelInputs {
  Halide::Param<int> q_block, head;

  // Of a grid. q_block, head, batch and sequence are those of its first tile; elements are
  // addressed from the start of a tensor's memory on.
  Halide::Param<int> heads_per_kv, sequence;
  Halide::Param<int64_t> q_start, k_start, v_start;
  std::vector<Halide::Param<int64_t>> output_starts;  // in the order of the outputs

  std::vector<Halide::Argument> arguments() const;
  std::vector<Halide::Argument> grid_arguments() const;
};

PrefillInputs make_prefill_inputs(const Variant& variant, const AttentionTiling& tiling);
// Of out and of the numbers of rows that the variant returns.
std::vector<Halide::Param<int64_t>> make_output_starts(const Variant& variant);

// out = normalised weights times values for block_rows rows.
struct PrefillPipeline : AttentionTile {
  PrefillInputs inputs;
  FinishedRows finished;
  Halide::Func out;                    // (d, qi)
  Halide::Func lse, row_max, row_sum;  // (qi), each undefined unless the variant returns it
  // Instead of all of these, of a grid: (d, row, head, sequence), a tuple of out and the numbers of
  // rows, which then are stored once for each feature, to one place.
  Halide::Func grid;

  // Probabilities, if the variant returns them: every key is scored once more.
  RowChain inspected_keys;                           // (d, j, block)
  Halide::Func inspected_product, inspected_weight;  // (qi, j, block)
  Halide::RDom inspected_features;
  Halide::Func probabilities;  // (k, qi)

  // out, then the extra outputs in the order of registry.h.
  std::vector<Halide::Func> outputs() const;
};

// The tile status must belong to variant.mask() and to block_rows x key_block tiles.
PrefillPipeline make_prefill(const Variant& variant, const AttentionTiling& tiling,
                             const TileStatus& status);

}  // namespace fovea

#endif
