// relative_bias.cpp: bucket boundaries and slopes, computed when a variant is declared.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/relative_bias.h>

#include <cmath>
#include <string>

namespace fovea {

// A distance n of at least exact() is in bucket exact() + floor(steps * ln(n / exact) /
// ln(max_distance / exact)). Bucket exact() + j begins at the smallest n for which (n /
// exact)^steps
// >= (max_distance / exact)^j; where both sides are equal, rounding must not decide.
std::vector<int> T5Buckets::thresholds() const {
  const int first = exact(), steps = one_way() - first;
  if (first < 1 || max_distance <= first || (bidirectional && count % 2 != 0)) {
    throw DeclarationError(
        "?", "T5 buckets",
        std::to_string(count) + " up to distance " + std::to_string(max_distance),
        "at least two buckets a direction, and distances beyond the exact half",
        "use 32 buckets up to 128, as T5 does");
  }
  constexpr double equal = 1e-9;  // far below the step from one integer to the next
  const double range = std::log(static_cast<double>(max_distance) / first);
  std::vector<int> result;
  for (int j = 1, n = first; j < steps; ++j) {
    while (steps * std::log(static_cast<double>(n) / first) < j * range - equal) ++n;
    result.push_back(n);
  }
  return result;
}

Expr T5Buckets::operator()(Expr distance) const {
  const Expr n = bidirectional ? Halide::abs(distance) : -distance;
  Expr bucket = Halide::clamp(Halide::cast<int32_t>(n), 0, exact());
  for (const int threshold : thresholds()) {
    bucket += Halide::select(Halide::cast<int32_t>(n) >= threshold, 1, 0);
  }
  return bidirectional ? bucket + Halide::select(distance > 0, one_way(), 0) : bucket;
}

std::vector<float> alibi_slopes_geometric(int64_t heads) {
  std::vector<float> slopes;
  for (int64_t h = 1; h <= heads; ++h) {
    slopes.push_back(
        static_cast<float>(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(heads))));
  }
  return slopes;
}

std::vector<float> alibi_slopes(int64_t heads) {
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes = alibi_slopes_geometric(power);
  const std::vector<float> twice = alibi_slopes_geometric(2 * power);
  for (int64_t i = 0; power + i < heads; ++i) slopes.push_back(twice[static_cast<size_t>(2 * i)]);
  return slopes;
}

}  // namespace fovea
