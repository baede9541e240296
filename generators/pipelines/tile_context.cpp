// tile_context.cpp: symbols and marks that the parts of a pipeline share.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/tile_context.h"

#include <utility>

#include "generators/pipelines/math.h"

namespace fovea {
namespace {

using Halide::Expr;

// Where no weight is negative: as integers every weight, and NaN of either sign, lies above the
// mark, and the select around a multiply-add becomes one masked instruction.
constexpr float negative_mark = -1.0f;
constexpr int32_t negative_mark_bits = static_cast<int32_t>(0xbf800000u);
// Else a signalling NaN, which no arithmetic yields.
constexpr int32_t signalling_mark_bits = static_cast<int32_t>(0xff812345u);

}  // namespace

TileContext::TileContext(const Variant& v, const AttentionTiling& t, const TileStatus& s,
                         KernelInputs in, DiagonalTerms terms)
    : variant(v),
      tiling(t),
      status(s),
      inputs(std::move(in)),
      score_terms(std::move(terms)),
      softmax(v.normalizer() == Normalizer::Kind::Softmax),
      natural_units(!softmax || !v.score_steps().empty()) {}

const std::vector<Expr>& TileContext::key_steps() const {
  static const std::vector<Expr> none;
  return is_cache(tiling.cache) ? none : variant.key_steps();
}

const std::vector<Expr>& TileContext::value_steps() const {
  static const std::vector<Expr> none;
  return is_cache(tiling.cache) ? none : variant.value_steps();
}

Expr TileContext::end_block() const {
  return (inputs.kv_len + (tiling.key_block - 1)) / tiling.key_block;
}

Expr TileContext::query_scale() const {
  return natural_units ? Expr(inputs.scale) : inputs.scale * log2_e;
}

BindDeclaration TileContext::binder() const {
  std::map<std::string, Halide::Parameter> parameters;
  for (size_t i = 0; i < variant.parameters().size(); ++i) {
    parameters[variant.parameters()[i]->name] = inputs.parameters[i];
  }
  BindDeclaration b(parameters);
  b.bind("batch", inputs.batch)
      .bind("kv_head", kv_head())
      .bind("q_len", inputs.q_len)
      .bind("kv_len", inputs.kv_len);
  return b;
}

BindDeclaration TileContext::binder_at(const Expr& row) const {
  const RowPlace at = place(row);
  BindDeclaration b = binder();
  b.bind("head", at.head).bind("q", at.q).bind("row", at.row);
  return b;
}

BindDeclaration TileContext::binder_at(const Expr& row, const Expr& key) const {
  BindDeclaration b = binder_at(row);
  b.bind("k", key);
  return b;
}

Expr TileContext::later_block(const Expr& k_block) const {
  const Expr last = (inputs.kv_len - 1) / tiling.key_block;
  return Halide::min(k_block + tiling.prefetch_blocks, last);
}

Expr TileContext::marked(const Expr& visible, const Expr& weight) const {
  if (!weights_have_signs()) return Halide::select(visible, weight, negative_mark);
  return Halide::reinterpret<float>(
      Halide::select(visible, Halide::reinterpret<int32_t>(weight), Expr(signalling_mark_bits)));
}

Expr TileContext::is_visible(const Expr& weight) const {
  const Expr bits = Halide::reinterpret<int32_t>(weight);
  return weights_have_signs() ? bits != signalling_mark_bits : negative_mark_bits < bits;
}

}  // namespace fovea
