// tile_context.h: what the parts of a pipeline share while it is built, whatever the pass.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_TILE_CONTEXT_H
#define FOVEA_GENERATORS_PIPELINES_TILE_CONTEXT_H

#include <Halide.h>

#include "generators/analysis/tile_status.h"
#include "generators/pipelines/bind_declaration.h"
#include "generators/pipelines/diagonal_terms.h"
#include "generators/pipelines/kernel_inputs.h"

namespace fovea {

// Score of a hidden key and start of every running maximum. Finite, because generated code is
// compiled under the assumption that there are no infinities; below every logit the contract admits
// (1e29, times log2 e).
inline constexpr float mask_score = -1e30f;

// Variables of the pipelines' Funcs; schedules find them by these names.
namespace tile_vars {
inline const Halide::Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group"),
    in_chunk("in_chunk"), chunk("chunk"), k("k"), diagonal("diagonal"), lane("lane"), pair("pair"),
    vector("vector"), step("step");
}

// Where a row of the tile belongs: its query head, its row of the sequence, its position.
struct RowPlace {
  Halide::Expr head, row, q;
};

class TileContext {
 public:
  TileContext(const Variant& variant, const AttentionTiling& tiling, const TileStatus& status,
              KernelInputs inputs, DiagonalTerms score_terms);
  virtual ~TileContext() = default;

  const Variant& variant;
  const AttentionTiling& tiling;
  const TileStatus& status;
  KernelInputs inputs;
  DiagonalTerms score_terms;  // of the score chain
  bool softmax;               // else a weight function
  bool natural_units;         // a score is in natural units until it leaves the score chain

  // Of keys and values as the kernel finds them: those of a cache have been transformed.
  const std::vector<Halide::Expr>& key_steps() const;
  const std::vector<Halide::Expr>& value_steps() const;

  virtual RowPlace place(const Halide::Expr& row_of_tile) const = 0;

  virtual Halide::Expr kv_head() const { return inputs.kv_head; }
  // Which sequence of k and v, where those hold several.
  virtual Halide::Expr sequence() const { return 0; }

  // A condition of the tile status for one key block, and for `key` if it is given: whether it
  // holds for the tile, which a condition on what is visible does if it does for every row, and a
  // condition on what is live if it does for any row.
  enum class Rows { Any, Every };
  virtual Halide::Expr tile_condition(const Halide::Expr& condition, Rows rows,
                                      const Halide::Expr& k_block,
                                      const Halide::Expr& key = Halide::Expr()) const = 0;

  // The blocks that the kernel looks at: all up to the last key, unless its caller asks for fewer.
  virtual Halide::Expr first_block() const { return 0; }
  virtual Halide::Expr end_block() const;

  // The block that is asked for while this one is computed. Behind the last one lie rows that
  // another head, or nobody, wants.
  Halide::Expr later_block(const Halide::Expr& k_block) const;

  // What a product of a query and a key is multiplied by. Score steps and weight functions see
  // natural units; without them the change of base is part of it.
  Halide::Expr query_scale() const;

  // Everything a declaration may name that is one number for the whole tile.
  virtual BindDeclaration binder() const;
  // The same at query row `qi` of the tile; of a key as well if it is given.
  BindDeclaration binder_at(const Halide::Expr& row) const;
  BindDeclaration binder_at(const Halide::Expr& row, const Halide::Expr& key) const;

  // Weight of a hidden key inside a partial block: a mark that no weight can have, compared by its
  // bits. A hidden key must be left out of the sums even if its value row holds NaN, while a
  // visible key whose weight is 0 must not be left out.
  Halide::Expr marked(const Halide::Expr& visible, const Halide::Expr& weight) const;
  Halide::Expr is_visible(const Halide::Expr& weight) const;
  bool weights_have_signs() const {
    return !softmax || variant.weight_factor().defined() || tiling.scales_apart;
  }
};

}  // namespace fovea

#endif
