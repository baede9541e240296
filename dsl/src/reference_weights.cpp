// reference_weights.cpp: two-pass softmax with a sink; weight functions with a divisor.
// SPDX-License-Identifier: Apache-2.0
#include "reference_weights.h"

#include <cmath>
#include <limits>
#include <utility>

#include "reference_rows.h"

namespace fovea::detail {
namespace {

template <typename Real>
constexpr Real infinity = std::numeric_limits<Real>::infinity();
template <typename Real>
constexpr Real nan = std::numeric_limits<Real>::quiet_NaN();

template <typename Real>
RowWeights<Real> softmax_weights(const Expr& sink_logit, const std::vector<Real>& scores,
                                 const Environment<Real>& environment) {
  RowWeights<Real> row;
  const Real sink =
      sink_logit.defined() ? evaluate(sink_logit, environment).reals.at(0) : -infinity<Real>;
  // std::max would drop a NaN or not depending on the order; here it always survives.
  Real largest = sink;
  bool has_nan = std::isnan(sink);
  for (const Real s : scores) {
    has_nan = has_nan || std::isnan(s);
    if (s > largest) largest = s;
  }
  if (has_nan) {
    row.weights.assign(scores.size(), nan<Real>);
    row.divisor = row.largest = row.sum = row.lse = nan<Real>;
    return row;
  }
  row.largest = row.lse = largest;
  if (largest == -infinity<Real>) {
    row.is_empty = true;
    return row;
  }
  row.weights = scores;
  for (Real& w : row.weights) {
    w = std::exp(w - largest);
    row.sum += w;
  }
  if (sink_logit.defined()) row.sum += std::exp(sink - largest);
  row.divisor = row.sum;
  row.lse = largest + std::log(row.sum);
  if (std::isnan(row.sum)) row.largest = nan<Real>;  // +infinity among the scores
  return row;
}

// A NaN score has the weight NaN, also where the function looks away.
template <typename Real>
std::vector<Real> weights_of(const Expr& weight, const std::vector<Real>& scores,
                             Environment<Real>& environment) {
  environment.variables["score"] = {true, scores, {}};
  std::vector<Real> weights = evaluate_reals(weight, environment);
  for (size_t k = 0; k < scores.size(); ++k) {
    if (std::isnan(scores[k])) weights[k] = scores[k];
  }
  return weights;
}

template <typename Real>
Real divisor_of(const Expr& divisor, Real sum, Environment<Real>& environment) {
  environment.variables["sum"] = Lanes<Real>::real(sum);
  return evaluate(divisor, environment).reals.at(0);
}

// The larger of the slopes to both sides, over a step far above rounding.
template <typename Real>
Real slope(Real below, Real here, Real above, Real step) {
  const Real steepest = std::max(std::abs(above - here), std::abs(here - below)) / step;
  return std::isfinite(steepest) ? steepest : 0;
}

template <typename Real>
Real step_at(Real x) {
  return std::max(Real(1), std::abs(x)) / 1024;
}

template <typename Real>
void add_sensitivities(const Variant& variant, const std::vector<Real>& scores,
                       Environment<Real>& environment, RowWeights<Real>& row) {
  std::vector<Real> below = scores, above = scores;
  for (size_t k = 0; k < scores.size(); ++k) {
    below[k] -= step_at(scores[k]);
    above[k] += step_at(scores[k]);
  }
  below = weights_of(variant.weight(), below, environment);
  above = weights_of(variant.weight(), above, environment);
  Real total = 0;
  for (size_t k = 0; k < scores.size(); ++k) {
    const Real w = row.weights[k];
    row.sensitivity.push_back(std::abs(w) + slope(below[k], w, above[k], step_at(scores[k])));
    total += row.sensitivity.back();
  }
  if (!variant.divisor().defined()) return;
  const Real step = step_at(row.sum);
  row.divisor_sensitivity =
      total / std::abs(row.divisor) *
      slope(divisor_of(variant.divisor(), row.sum - step, environment), row.divisor,
            divisor_of(variant.divisor(), row.sum + step, environment), step);
}

template <typename Real>
RowWeights<Real> function_weights(const Variant& variant, const std::vector<Real>& scores,
                                  Environment<Real>& environment, bool sensitivities) {
  RowWeights<Real> row;
  row.largest = row.lse = nan<Real>;
  if (scores.empty()) {
    row.is_empty = true;
    return row;
  }
  row.weights = weights_of(variant.weight(), scores, environment);
  for (const Real w : row.weights) row.sum += w;
  if (variant.divisor().defined()) {
    row.divisor = divisor_of(variant.divisor(), row.sum, environment);
    if (row.divisor == 0) row.divisor = 1;
  }
  if (sensitivities) add_sensitivities(variant, scores, environment, row);
  return row;
}

}  // namespace

template <typename Real>
RowWeights<Real> row_weights(const Variant& variant, const std::vector<Real>& scores,
                             Environment<Real>& environment, bool sensitivities) {
  if (variant.normalizer() == Normalizer::Kind::Weights) {
    return function_weights(variant, scores, environment, sensitivities);
  }
  RowWeights<Real> row = softmax_weights(variant.sink_logit(), scores, environment);
  // The derivative of a weight of a softmax is no larger than the weight.
  if (sensitivities) row.sensitivity = row.weights;
  return row;
}

template RowWeights<double> row_weights(const Variant&, const std::vector<double>&,
                                        Environment<double>&, bool);
template RowWeights<float> row_weights(const Variant&, const std::vector<float>&,
                                       Environment<float>&, bool);

}  // namespace fovea::detail
