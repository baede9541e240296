// row_norm.h: normalisation of rows, as parts of row transforms.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_ROW_NORM_H
#define FOVEA_DSL_ROW_NORM_H

#include <fovea/dsl/row.h>

namespace fovea {

// Entry d of the row divided by sqrt(mean of squares + epsilon) (Zhang and Sennrich 2019,
// arXiv:1910.07467).
Expr rms_normalized(const Row& row, Expr d, Expr epsilon);
// Entry d of the row divided by its Euclidean length, or by epsilon where that is larger.
Expr unit_length(const Row& row, Expr d, Expr epsilon);

}  // namespace fovea

#endif
