// prefill_context.cpp: places and conditions of a prefill tile.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/prefill_context.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

}  // namespace

PrefillContext::PrefillContext(const Variant& v, const AttentionTiling& t, const TileStatus& s,
                               const PrefillInputs& in)
    : TileContext(v, t, s, in, separate_diagonals(v.score_chain())),
      in_(in),
      head_(in.head),
      first_row_(in.q_block * t.item_rows),
      q_first_(in.q_offset + in.q_block * t.item_rows) {
  row_entries = bounds_of_rows(*this, last_row());
}

Expr PrefillContext::kv_head() const {
  return tiling.grid ? head_ / in_.heads_per_kv : Expr(in_.kv_head);
}

Expr PrefillContext::sequence() const { return in_.sequence; }

Expr PrefillContext::last_row() const {
  return tiling.grid ? in_.q_len - 1 - first_row_ : in_.q.dim(1).extent() - 1;
}

Expr PrefillContext::query(const Expr& feature, const Expr& row_of_tile) const {
  const Expr row = Halide::min(row_of_tile, last_row());
  return widen(
      tiling.grid ? in_.q(feature, first_row_ + row, head_, sequence()) : in_.q(feature, row),
      tiling.element);
}

RowPlace PrefillContext::place(const Expr& row_of_tile) const {
  return {head_, first_row_ + row_of_tile, q_first_ + row_of_tile};
}

BindDeclaration PrefillContext::binder() const {
  BindDeclaration b = TileContext::binder();
  b.bind("head", head_);
  return b;
}

Expr PrefillContext::tile_condition(const Expr& condition, Rows, const Expr& k_block,
                                    const Expr& key) const {
  // The conditions speak of the tile as a whole.
  BindDeclaration bind = binder();
  bind.bind(TileStatus::q_first().as<ir::Variable>()->name, q_first_)
      .bind(TileStatus::q_offset().as<ir::Variable>()->name, inputs.q_offset)
      .bind(TileStatus::k_block().as<ir::Variable>()->name, k_block);
  if (key.defined()) bind.bind("k", key);
  bind_bounds(bind, status, row_entries);
  return bind.mutate(condition);
}

}  // namespace fovea
