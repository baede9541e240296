// prefill_context.h: what the parts of the prefill pipeline share while it is built.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_PREFILL_CONTEXT_H
#define FOVEA_GENERATORS_PIPELINES_PREFILL_CONTEXT_H

#include <Halide.h>

#include "generators/pipelines/diagonal_terms.h"
#include "generators/pipelines/prefill.h"

namespace fovea {

// Score of a hidden key and start of every running maximum. Finite, because generated code is
// compiled under the assumption that there are no infinities; below every logit the contract admits
// (1e29, times log2 e).
inline constexpr float mask_score = -1e30f;

// Variables of the pipeline's Funcs; schedules find them by these names.
namespace prefill_vars {
inline const Halide::Var qi("qi"), d("d"), j("j"), block("block"), slot("slot"), group("group"),
    in_chunk("in_chunk"), chunk("chunk"), k("k"), diagonal("diagonal");
}

struct PrefillContext {
  PrefillContext(const Variant& variant, const PrefillTiling& tiling, const TileStatus& status,
                 PrefillInputs inputs);

  const Variant& variant;
  const PrefillTiling& tiling;
  const TileStatus& status;
  PrefillInputs inputs;

  bool softmax;               // else a weight function
  bool natural_units;         // a score is in natural units until it leaves the score chain
  Halide::Expr q_first;       // position of the tile's first row
  DiagonalTerms score_terms;  // of the score chain

  // What a product of a query and a key is multiplied by. Score steps and weight functions see
  // natural units; without them the change of base is part of it.
  Halide::Expr query_scale() const;

  // Everything a declaration may name that is one number for the whole work item.
  BindDeclaration binder() const;
  // The same at query row `qi` of the tile; of a key as well if it is given.
  BindDeclaration binder_at(const Halide::Expr& row) const;
  BindDeclaration binder_at(const Halide::Expr& row, const Halide::Expr& key) const;

  // Weight of a hidden key inside a partial block: a mark that no weight can have, compared by its
  // bits. A hidden key must be left out of the sums even if its value row holds NaN, while a
  // visible key whose weight is 0 must not be left out.
  Halide::Expr marked(const Halide::Expr& visible, const Halide::Expr& weight) const;
  Halide::Expr is_visible(const Halide::Expr& weight) const;
  bool weights_have_signs() const { return !softmax || variant.weight_factor().defined(); }
};

// Funcs for the keys of one block, for the features of one slice.
KeyBlockStage make_key_block_stage(const PrefillContext& context, const std::string& name,
                                   const QueryRows& query,
                                   const std::vector<EntryBounds>& row_entries, int slice,
                                   bool partial);

// The parts of it that the probabilities need too. `chain` is the variant's score chain or a form
// of it that the binder knows; `keys` reads (d, j, block).
Halide::Expr score_at(const PrefillContext& context, const Halide::Expr& product,
                      BindDeclaration binder, const Halide::Expr& chain);
Halide::Expr visible_at(const PrefillContext& context, const Halide::Expr& row,
                        const Halide::Expr& key);
RowChain make_key_rows(const PrefillContext& context, const std::string& name, bool clamped);

// Bounds over the rows of the tile of the mask's table entries that depend on the query.
std::vector<EntryBounds> make_row_entries(const PrefillContext& context);
// Which blocks a stage runs, and in what form.
BlockLoop make_block_loop(const PrefillContext& context, const std::string& name,
                          const std::vector<EntryBounds>& row_entries, bool partial);
// A condition of the tile status over the row entries, and over `key` if it is given.
Halide::Expr tile_condition(const PrefillContext& context, const Halide::Expr& condition,
                            const std::vector<EntryBounds>& row_entries,
                            const Halide::Expr& k_block, const Halide::Expr& key = Halide::Expr());

}  // namespace fovea

#endif
