// row_norm.cpp: normalisation of rows.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/row_norm.h>

namespace fovea {

Expr rms_normalized(const Row& row, Expr d, Expr epsilon) {
  return row(d) / Halide::sqrt(row.mean_square() + epsilon);
}

Expr unit_length(const Row& row, Expr d, Expr epsilon) {
  const Expr squares = row.sum([&](Expr j) { return row(j) * row(j); });
  return row(d) / Halide::max(Halide::sqrt(squares), epsilon);
}

}  // namespace fovea
