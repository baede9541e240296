// prefill_context.cpp: symbols and marks that the parts of the prefill pipeline share.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/prefill_context.h"

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

PrefillContext::PrefillContext(const Variant& v, const PrefillTiling& t, const TileStatus& s,
                               PrefillInputs in)
    : variant(v),
      tiling(t),
      status(s),
      inputs(std::move(in)),
      softmax(v.normalizer() == Normalizer::Kind::Softmax),
      natural_units(!softmax || !v.score_steps().empty()),
      q_first(inputs.q_offset + inputs.q_block * t.block_rows),
      score_terms(separate_diagonals(v.score_chain())) {}

Expr PrefillContext::query_scale() const {
  return natural_units ? Expr(inputs.scale) : inputs.scale * log2_e;
}

BindDeclaration PrefillContext::binder() const {
  std::map<std::string, Halide::Parameter> parameters;
  for (size_t i = 0; i < variant.parameters().size(); ++i) {
    parameters[variant.parameters()[i]->name] = inputs.parameters[i];
  }
  BindDeclaration b(parameters);
  b.bind("batch", inputs.batch)
      .bind("head", inputs.head)
      .bind("kv_head", inputs.kv_head)
      .bind("q_len", inputs.q_len)
      .bind("kv_len", inputs.kv_len);
  return b;
}

BindDeclaration PrefillContext::binder_at(const Expr& row) const {
  BindDeclaration b = binder();
  b.bind("q", q_first + row).bind("row", inputs.q_block * tiling.block_rows + row);
  return b;
}

BindDeclaration PrefillContext::binder_at(const Expr& row, const Expr& key) const {
  BindDeclaration b = binder_at(row);
  b.bind("k", key);
  return b;
}

Expr PrefillContext::marked(const Expr& visible, const Expr& weight) const {
  if (!weights_have_signs()) return Halide::select(visible, weight, negative_mark);
  return Halide::reinterpret<float>(
      Halide::select(visible, Halide::reinterpret<int32_t>(weight), Expr(signalling_mark_bits)));
}

Expr PrefillContext::is_visible(const Expr& weight) const {
  const Expr bits = Halide::reinterpret<int32_t>(weight);
  return weights_have_signs() ? bits != signalling_mark_bits : negative_mark_bits < bits;
}

}  // namespace fovea
