// reference_epilogue.h: from the normalised outputs of the slices to the stored row.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_REFERENCE_EPILOGUE_H
#define FOVEA_DSL_SRC_REFERENCE_EPILOGUE_H

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/variant.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "reference_rows.h"

namespace fovea::detail {

// The environment names the place of the row.
template <typename Real>
class RowEpilogue {
 public:
  using Rows = std::vector<std::vector<Real>>;  // one for each slice

  RowEpilogue(const Variant& variant, Environment<Real>& environment)
      : variant_(variant), environment_(environment) {}

  std::vector<Real> apply(Rows slices) const {
    std::vector<Real> row;
    if (variant_.slice_count() == 1) {
      row = std::move(slices[0]);
    } else {
      bind_features(environment_, slices[0].size());
      for (size_t i = 0; i < slices.size(); ++i) {
        const Expr slice = Variant::symbolic_slice(static_cast<int>(i));
        environment_.variables[slice.as<Halide::Internal::Variable>()->name] = {
            true, std::move(slices[i]), {}};
      }
      row = evaluate_reals(variant_.combination(), environment_);
    }
    transform_row(variant_.output_steps(), environment_, row);
    return row;
  }

  // What errors of the stored row are measured against, given the same of each slice: the row
  // itself, and how far it moves when every entry moves by its own magnitude, all to one side or
  // against each other.
  std::vector<Real> magnitudes(const Rows& slices, const Rows& sizes) const {
    if (variant_.slice_count() == 1 && variant_.output_steps().empty()) return sizes[0];
    constexpr Real step = Real(1) / 4096;  // far above rounding, small for the curvature
    const std::vector<Real> row = apply(slices);
    std::vector<Real> response(row.size(), Real(0));
    for (int pattern = 0; pattern < 8; ++pattern) {
      Rows moved = slices;
      for (size_t i = 0; i < moved.size(); ++i) {
        for (size_t d = 0; d < moved[i].size(); ++d) {
          const bool minus = ((pattern & 1) != 0) != (((pattern & 2) != 0 && i % 2 != 0) !=
                                                      ((pattern & 4) != 0 && d % 2 != 0));
          moved[i][d] += (minus ? -step : step) * sizes[i][d];
        }
      }
      const std::vector<Real> there = apply(std::move(moved));
      for (size_t d = 0; d < row.size(); ++d) {
        const Real r = std::abs(there[d] - row[d]) / step;
        if (std::isfinite(r)) response[d] = std::max(response[d], r);
      }
    }
    for (size_t d = 0; d < row.size(); ++d) response[d] += std::abs(row[d]);
    return response;
  }

 private:
  const Variant& variant_;
  Environment<Real>& environment_;
};

}  // namespace fovea::detail

#endif
