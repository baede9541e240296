// finished_rows.cpp: division, slices, output transforms, LSE and the like.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/finished_rows.h"

#include <string>

#include "generators/pipelines/math.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using namespace tile_vars;
using Halide::Expr;
using Halide::Func;

constexpr int32_t infinity_bits = 0x7f800000;
constexpr int32_t minus_infinity_bits = static_cast<int32_t>(0xff800000u);
constexpr int32_t nan_bits = 0x7fc00000;

FinishedRows::Slice normalise(const TileContext& c, const RowSums& sums,
                              const std::string& suffix) {
  FinishedRows::Slice s;
  s.rows = Func("rows" + suffix);
  const Expr entry = sums.entry(d);
  if (!c.softmax && !c.variant.divisor().defined()) {
    s.rows(qi, d) = entry;
    return s;
  }
  const Expr by =
      c.softmax ? sums.sum : c.binder_at(qi).bind("sum", sums.sum).mutate(c.variant.divisor());
  // No visible key: the sum is exactly 0, and so is the row. By its bits, because NaN must not
  // pass for 0.
  const Expr is_zero = (Halide::reinterpret<int32_t>(by) & 0x7fffffff) == 0;
  s.divisor = Func("divisor" + suffix);
  s.divisor(qi) = Halide::select(is_zero, 1.0f, by);
  // A true division: by way of the reciprocal, the mean of equal values would not be that value.
  s.rows(qi, d) = Halide::strict_float(entry / s.divisor(qi));
  return s;
}

}  // namespace

Expr sink_maximum(const Expr& sink) {
  const Expr none = Halide::reinterpret<int32_t>(sink) == minus_infinity_bits;
  return Halide::select(none, mask_score, sink * log2_e);
}

Expr sink_sum(const Expr& sink) {
  const Expr bits = Halide::reinterpret<int32_t>(sink);
  // The sum carries what the maximum may lose.
  return Halide::reinterpret<float>(Halide::select(bits == minus_infinity_bits, 0,
                                                   (bits & 0x7fffffff) >= infinity_bits, nan_bits,
                                                   Halide::reinterpret<int32_t>(Expr(1.0f))));
}

FinishedRows finish_rows(const TileContext& c, const std::vector<RowSums>& slices) {
  FinishedRows f;
  for (size_t i = 0; i < slices.size(); ++i)
    f.slices.push_back(normalise(c, slices[i], slices.size() > 1 ? "_" + std::to_string(i) : ""));
  Func rows = f.slices[0].rows;
  if (slices.size() > 1) {
    BindDeclaration bind = c.binder_at(qi);
    bind.bind("d", d);
    for (size_t i = 0; i < slices.size(); ++i) {
      bind.bind(Variant::symbolic_slice(static_cast<int>(i)).as<ir::Variable>()->name,
                f.slices[i].rows(qi, d));
    }
    f.combined = Func("combined");
    f.combined(qi, d) = bind.mutate(c.variant.combination());
    rows = f.combined;
  }
  const RowLayout layout{{qi, d}, 1, c.tiling.d_v};
  f.output_rows = make_row_chain("output", c.variant.output_steps(), layout, c.binder_at(qi),
                                 [&](std::vector<Expr> at) { return rows(at); });
  const Expr out =
      f.output_rows.steps.empty() ? Expr(rows(qi, d)) : Expr(f.output_rows.steps.back().row(qi, d));
  f.out = c.tiling.grid ? narrow_to_bits(out, c.tiling.element) : narrow(out, c.tiling.element);

  const Expr sum = slices[0].sum, sum_bits = Halide::reinterpret<int32_t>(sum);
  const Expr empty = sum_bits == 0;
  // Maximum and logarithm lose a NaN; the sum never does. By bits, as above.
  const auto of_row = [&](const Expr& value) {
    return Halide::reinterpret<float>(Halide::select(empty, minus_infinity_bits, has_nan_bits(sum),
                                                     sum_bits,
                                                     Halide::reinterpret<int32_t>(value)));
  };
  if (c.variant.returns(Output::Lse)) f.lse = of_row(slices[0].maximum * ln_2 + Halide::log(sum));
  if (c.variant.returns(Output::RowMax)) f.row_max = of_row(slices[0].maximum * ln_2);
  if (c.variant.returns(Output::RowSum)) f.row_sum = sum;
  return f;
}

Func grid_of_rows(const FinishedRows& f, const Expr& out, const Expr& first_row) {
  const Halide::Var row("row"), head("head"), sequence("sequence");
  std::vector<Expr> values = {out};
  for (const Expr& e : {f.lse, f.row_max, f.row_sum}) {
    if (e.defined()) values.push_back(e);
  }
  for (Expr& e : values) e = ir::substitute(qi.name(), row - first_row, e);
  Func grid("grid");
  grid(d, row, head, sequence) =
      values.size() > 1 ? Halide::Tuple(values) : Halide::Tuple(values[0]);
  return grid;
}

}  // namespace fovea
