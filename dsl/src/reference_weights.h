// reference_weights.h: from the scores of one row to its weights.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_REFERENCE_WEIGHTS_H
#define FOVEA_DSL_SRC_REFERENCE_WEIGHTS_H

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/variant.h>

#include <vector>

namespace fovea::detail {

template <typename Real>
struct RowWeights {
  bool is_empty = false;      // the output of the row is 0, whatever else stands here
  std::vector<Real> weights;  // of the visible keys, before the division
  Real divisor = 1;
  Real largest = 0, sum = 0, lse = 0;  // row_max, row_sum, lse; NaN where the kind has none
  // How much the numbers move with the scores, for the accuracy rule: |weight| plus the size of its
  // derivative for each key, and the share of the divisor that comes from their sum.
  std::vector<Real> sensitivity;
  Real divisor_sensitivity = 0;
};

// The environment holds the position, the visible keys in "k" and their scores in "score"; there is
// a lane for each visible key, and at least one lane. `scores` are empty for a row without keys.
// Sensitivities are filled in on demand.
template <typename Real>
RowWeights<Real> row_weights(const Variant& variant, const std::vector<Real>& scores,
                             Environment<Real>& environment, bool sensitivities);

extern template RowWeights<double> row_weights(const Variant&, const std::vector<double>&,
                                               Environment<double>&, bool);
extern template RowWeights<float> row_weights(const Variant&, const std::vector<float>&,
                                              Environment<float>&, bool);

}  // namespace fovea::detail

#endif
