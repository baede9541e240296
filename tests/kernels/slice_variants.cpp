// slice_variants.cpp: slices of rows whose number of features three divides.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(test_three_slices, v) {
  v.keep(masks::causal());
  v.slices(3, [](const std::vector<Expr>& o, const Position&) {
    return 0.5f * o[0] + 0.75f * o[1] - 0.25f * o[2];
  });
}

// Rows are transformed whole; what the slices made is transformed as one row.
FOVEA_VARIANT(test_slices_of_transformed_rows, v) {
  auto gain = v.table<float>("gain", {axis::feature});
  auto lambda = v.scalar<float>("lambda").between(0.0f, 1.0f);
  auto visible = v.table<bool>("visible", {axis::key});
  const auto normalised = [=](const Row& row, Expr d, const Position&) {
    return row(d) / Halide::sqrt(row.mean_square() + 1e-5f) * gain(d);
  };
  v.query(normalised);
  v.key(normalised);
  v.keep([=](const Position& p) { return visible(p.k); });
  v.slices(2, [=](const std::vector<Expr>& o, const Position&) { return o[0] - lambda * o[1]; });
  v.output([](const Row& row, Expr d, const Position&) {
    return row(d) / Halide::sqrt(row.mean_square() + 1e-5f);
  });
}
