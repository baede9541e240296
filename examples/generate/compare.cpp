// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace generate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Errors {
  double largest = 0, sum = 0;
  std::size_t count = 0;

  void add(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) largest = sum = kInfinity;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i, ++count) {
      const double error = std::abs(double{a[i]} - double{b[i]});
      // A NaN would get lost in a maximum.
      largest = std::max(largest, std::isfinite(error) ? error : kInfinity);
      sum += std::isfinite(error) ? error : kInfinity;
    }
  }
};

Errors errors_of(const std::vector<std::vector<float>>& a,
                 const std::vector<std::vector<float>>& b) {
  Errors errors;
  if (a.size() != b.size()) errors.largest = errors.sum = kInfinity;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) errors.add(a[i], b[i]);
  return errors;
}

}  // namespace

std::size_t common_tokens(const Tokens& a, const Tokens& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

double max_error(const std::vector<float>& a, const std::vector<float>& b) {
  Errors errors;
  errors.add(a, b);
  return errors.largest;
}

double max_error(const std::vector<std::vector<float>>& a,
                 const std::vector<std::vector<float>>& b) {
  return errors_of(a, b).largest;
}

double mean_error(const std::vector<std::vector<float>>& a,
                  const std::vector<std::vector<float>>& b) {
  const Errors errors = errors_of(a, b);
  return errors.sum / static_cast<double>(std::max<std::size_t>(errors.count, 1));
}

}  // namespace generate
