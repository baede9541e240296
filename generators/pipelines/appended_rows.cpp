// appended_rows.cpp: transforms, scales, few bits. No scheduling here.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/appended_rows.h"

#include <algorithm>

#include "generators/pipelines/tile_context.h"

namespace fovea {
namespace {

using namespace tile_vars;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

constexpr int32_t infinity_bits = 0x7f800000;
constexpr uint16_t f16_infinity = 0x7c00, f16_nan = 0x7e00;

// The smallest f16 that is not below a number that is not negative: no element of the group is then
// beyond the largest number of its type. Too large for f16: NaN.
Expr f16_from_above(const Expr& value) {
  const Expr nearest = narrow_to_bits(value, Element::F16);
  const Expr below = widen(nearest, Element::F16) < value;
  const Expr bits =
      nearest + Halide::select(below, Halide::cast<uint16_t>(1), Halide::cast<uint16_t>(0));
  return Halide::select(bits >= f16_infinity, f16_nan, bits);
}

std::vector<Expr> with_first(const Expr& first, const std::vector<Expr>& at) {
  std::vector<Expr> all = at;
  all[0] = first;
  return all;
}

std::vector<Var> with_first(const Var& first, const std::vector<Var>& points) {
  std::vector<Var> all = {first};
  all.insert(all.end(), points.begin(), points.end());
  return all;
}

Expr group_of(const NewRows& rows, const Expr& feature) {
  return Halide::unsafe_promise_clamped((feature / scale_unit) >> rows.group_shift, 0,
                                        most_groups(rows.size) - 1);
}

// After the transforms, in f32.
Expr number(const AppendedRows& r, const NewRows& rows, const std::vector<Expr>& at) {
  if (r.steps.steps.empty()) return widen(rows.load(at), rows.element);
  Func row = r.steps.steps.back().row;
  return row(at);
}

void quantise_rows(AppendedRows& r, const NewRows& rows, const std::string& name) {
  const std::vector<Var> of_group = with_first(group, rows.points),
                         of_number = with_first(d, rows.points);
  const std::vector<Expr> at_group(of_group.begin(), of_group.end()),
      at(of_number.begin(), of_number.end());
  // Magnitudes are ordered as their bits are, NaN above infinity.
  r.features = RDom(0, rows.size, name + "_features");
  r.features.where(group_of(rows, r.features) == group);
  r.largest = Func(name + "_largest");
  r.largest(of_group) = 0;
  const Expr magnitude =
      Halide::reinterpret<int32_t>(number(r, rows, with_first(Expr(r.features), at))) & 0x7fffffff;
  r.largest(of_group) = Halide::max(r.largest(at_group), magnitude);
  const Expr bits = r.largest(at_group);
  const Expr exact =
      Halide::strict_float(Halide::reinterpret<float>(bits) / largest_number(rows.cache));
  const Expr rounded = Halide::select(bits >= infinity_bits, f16_nan, f16_from_above(exact));
  const Expr half =
      Halide::select(rows.has_scales != 0, rounded, Halide::cast<uint16_t>(0x3c00));  // 1
  r.scale = Func(name + "_scale_of_group");
  r.scale(of_group) = widen(half, Element::F16);

  const Expr scale = r.scale(with_first(group_of(rows, d), at));
  // Of a group without a scale nothing is asked of its numbers.
  const Expr none = (Halide::reinterpret<int32_t>(scale) & 0x7fffffff) == 0 || has_nan_bits(scale);
  const Expr divided =
      Halide::strict_float(number(r, rows, at) / Halide::select(none, 1.0f, scale));
  r.quantised = Func(name + "_quantised");
  r.quantised(of_number) = quantise(rows.cache, Halide::select(none, 0.0f, divided));
}

}  // namespace

int most_groups(int size) { return std::max(1, size / scale_unit); }

AppendedRows make_appended_rows(const std::string& name, const NewRows& rows) {
  AppendedRows r;
  r.size = rows.size;
  r.steps = make_row_chain(
      name + "s", rows.transforms, {with_first(d, rows.points), 0, rows.size}, rows.binder,
      [&](std::vector<Expr> at) { return widen(rows.load(std::move(at)), rows.element); });
  if (is_quantised(rows.cache)) quantise_rows(r, rows, name);
  return r;
}

Expr stored_element(AppendedRows& r, const NewRows& rows, const std::vector<Expr>& at) {
  if (!is_quantised(rows.cache)) {
    // What is not transformed keeps its bits.
    if (r.steps.steps.empty()) return rows.load(at);
    const Expr value = number(r, rows, at);
    return rows.grid ? narrow_to_bits(value, rows.element) : narrow(value, rows.element);
  }
  if (rows.cache != CacheKind::Int4) return r.quantised(at);
  const Expr first = at[0] / int4_distance * (2 * int4_distance) + at[0] % int4_distance;
  return r.quantised(with_first(first, at)) |
         (r.quantised(with_first(first + int4_distance, at)) << Halide::cast<uint8_t>(4));
}

Expr stored_scale(AppendedRows& r, const NewRows& rows, const std::vector<Expr>& at) {
  const Expr scale = r.scale(at);
  return rows.grid ? narrow_to_bits(scale, Element::F16) : narrow(scale, Element::F16);
}

}  // namespace fovea
