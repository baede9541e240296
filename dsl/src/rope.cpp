// rope.cpp: pairs of features turned by an angle from a table.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/rope.h>

#include <cmath>
#include <utility>
#include <vector>

namespace fovea {
namespace {

RowTransform turned(RopeLayout layout, const Table<float>& cosine, const Table<float>& sine,
                    const Expr& first_feature, Expr Position::* position) {
  return [=](const Row& row, Expr d, const Position& p) {
    const Expr pairs = cosine.extent(1);
    const Expr at = Halide::Internal::is_const_zero(first_feature) ? d : d - first_feature;
    Expr pair, partner, is_first;
    if (layout == RopeLayout::Interleaved) {
      pair = at / 2;
      is_first = at % 2 == 0;
      partner = Halide::select(is_first, d + 1, d - 1);
    } else {
      is_first = at < pairs;
      pair = Halide::select(is_first, at, at - pairs);
      partner = Halide::select(is_first, d + pairs, d - pairs);
    }
    const Expr c = cosine(p.*position, pair), s = sine(p.*position, pair);
    const Expr other = row(partner) * s;
    const Expr result = row(d) * c + Halide::select(is_first, -other, other);
    Expr is_turned = at < 2 * pairs;
    if (!at.same_as(d)) is_turned = at >= 0 && is_turned;
    return Halide::select(is_turned, result, row(d));
  };
}

struct RopeTables {
  Table<float> cosine, sine;
};

RopeTables declare_tables(Variant& v, const RopeExample& example) {
  const auto pairs = [example](const ExampleShape& shape) {
    return static_cast<int64_t>(example(shape).frequency.size());
  };
  // The frequencies of a shape are computed once for all of its entries.
  const auto entry = [example](double (*function)(double)) {
    return [example, function, rope = RopeFrequencies(), of = int64_t{-1}](
               const ExampleShape& shape, const std::vector<int64_t>& index) mutable {
      if (of != shape.d_qk || (index[0] == 0 && index[1] == 0)) {
        rope = example(shape);
        of = shape.d_qk;
      }
      const double angle =
          static_cast<double>(index[0]) * rope.frequency.at(static_cast<size_t>(index[1]));
      return function(angle) * rope.magnitude;
    };
  };
  RopeTables tables = {v.table<float>("cosine", {axis::position, axis::any}),
                       v.table<float>("sine", {axis::position, axis::any})};
  tables.cosine.describe("cosine of the angle by which a pair of features is turned at a position")
      .example(entry([](double x) { return std::cos(x); }))
      .example_extent(pairs);
  tables.sine.describe("sine of that angle")
      .example(entry([](double x) { return std::sin(x); }))
      .example_extent(pairs);
  return tables;
}

}  // namespace

Rope::Rope(RopeLayout layout, const Table<float>& cosine, const Table<float>& sine,
           Expr first_feature)
    : query(turned(layout, cosine, sine, first_feature, &Position::q)),
      key(turned(layout, cosine, sine, first_feature, &Position::k)) {}

void rotate(Variant& v, RopeLayout layout, RopeExample example) {
  const RopeTables tables = declare_tables(v, example);
  const Rope rope(layout, tables.cosine, tables.sine);
  v.query(rope.query);
  v.key(rope.key);
}

void rotate_last(Variant& v, RopeLayout layout, RopeExample example) {
  const RopeTables tables = declare_tables(v, example);
  const auto last = [&](RowTransform Rope::* which) {
    return [=](const Row& row, Expr d, const Position& p) {
      const Rope rope(layout, tables.cosine, tables.sine, row.size() - 2 * tables.cosine.extent(1));
      return (rope.*which)(row, d, p);
    };
  };
  v.query(last(&Rope::query));
  v.key(last(&Rope::key));
}

}  // namespace fovea
