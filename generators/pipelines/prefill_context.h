// prefill_context.h: a tile of rows of one head that follow each other.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_PREFILL_CONTEXT_H
#define FOVEA_GENERATORS_PIPELINES_PREFILL_CONTEXT_H

#include <vector>

#include "generators/pipelines/prefill.h"

namespace fovea {

class PrefillContext : public TileContext {
 public:
  PrefillContext(const Variant& variant, const AttentionTiling& tiling, const TileStatus& status,
                 const PrefillInputs& inputs);

  RowPlace place(const Halide::Expr& row_of_tile) const override;
  Halide::Expr tile_condition(const Halide::Expr& condition, Rows rows, const Halide::Expr& k_block,
                              const Halide::Expr& key) const override;
  BindDeclaration binder() const override;
  Halide::Expr kv_head() const override;
  Halide::Expr sequence() const override;

  // The last row of the sequence, as a row of the tile.
  Halide::Expr last_row() const;
  // Query row `row_of_tile` of the tile, whose features are `feature`, in f32.
  Halide::Expr query(const Halide::Expr& feature, const Halide::Expr& row_of_tile) const;

  // Bounds over the rows of the tile of the mask's table entries that depend on the query.
  std::vector<EntryBounds> row_entries;

 private:
  const PrefillInputs& in_;
  Halide::Expr head_, first_row_, q_first_;
};

}  // namespace fovea

#endif
