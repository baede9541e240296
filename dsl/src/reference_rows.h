// reference_rows.h: rows of q, k, v and the output under their transforms.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_REFERENCE_ROWS_H
#define FOVEA_DSL_SRC_REFERENCE_ROWS_H

#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/half_precision.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "input_rows.h"

namespace fovea::detail {

// An evaluation as one real a lane, also where it is the same in all of them.
template <typename Real>
std::vector<Real> evaluate_reals(const Expr& e, const Environment<Real>& environment) {
  std::vector<Real> reals = evaluate(e, environment).reals;
  if (reals.size() != environment.lanes) reals.assign(environment.lanes, reals.at(0));
  return reals;
}

// What is left of a number that a plain evaluation keeps in the type of its inputs. The reference,
// in double, keeps all of it.
template <typename Real>
Real kept(fovea_dtype dtype, Real x) {
  if constexpr (std::is_same_v<Real, float>) return rounded_to(dtype, x);
  return x;
}
template <typename Real>
void keep(fovea_dtype dtype, std::vector<Real>& row) {
  for (Real& x : row) x = kept(dtype, x);
}

// A lane is a feature from here on.
template <typename Real>
void bind_features(Environment<Real>& environment, size_t count) {
  std::vector<int64_t> features(count);
  std::iota(features.begin(), features.end(), int64_t{0});
  environment.lanes = count;
  environment.variables["d"] = {false, {}, std::move(features)};
}

// Applies the steps in order, each to the row that the one before made. The environment names the
// place of the row.
template <typename Real>
void transform_row(const std::vector<Expr>& steps, Environment<Real>& environment,
                   std::vector<Real>& row) {
  if (steps.empty()) return;
  bind_features(environment, row.size());
  for (const Expr& step : steps) {
    environment.row = std::move(row);
    row = evaluate_reals(step, environment);
  }
}

template <typename T>
double norm(const T* row, size_t size) {
  double sum = 0;
  for (size_t d = 0; d < size; ++d)
    sum += static_cast<double>(row[d]) * static_cast<double>(row[d]);
  return std::sqrt(sum);
}

// Key or value rows of one head after their transforms, kept in the type of the inputs. Without
// any, the stored numbers stay where they are. Each row is transformed once, however many queries
// see it.
template <typename Real>
class HeadRows {
 public:
  HeadRows(const InputRows& stored, int64_t count, int64_t features, fovea_dtype dtype,
           const std::vector<Expr>& steps, Environment<Real>& environment)
      : stored_(stored), features_(features) {
    if (steps.empty()) return;
    is_transformed_ = true;
    transformed_.reserve(static_cast<size_t>(count * features));
    for (int64_t k = 0; k < count; ++k) {
      environment.variables["k"] = Lanes<Real>::integer(k);
      std::vector<Real> row(stored.row(k), stored.row(k) + features);
      transform_row(steps, environment, row);
      keep(dtype, row);
      transformed_.insert(transformed_.end(), row.begin(), row.end());
    }
  }

  // Calls f with a function from row numbers to the numbers of the row.
  template <typename F>
  void visit(F f) const {
    if (is_transformed_) {
      f([this](int64_t row) { return transformed_.data() + row * features_; });
    } else {
      f([this](int64_t row) { return stored_.row(row); });
    }
  }

 private:
  const InputRows& stored_;
  int64_t features_;
  bool is_transformed_ = false;
  std::vector<Real> transformed_;
};

}  // namespace fovea::detail

#endif
