// comparison.h: the accuracy rule.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_COMPARISON_H
#define FOVEA_TESTS_SUPPORT_COMPARISON_H

#include <fovea/dsl/reference.h>

#include <cstdint>
#include <string>
#include <vector>

#include "problem.h"

namespace fovea::test {

// What a call should give: in double, with magnitudes, and by the plain evaluation.
struct Expected : ReferenceResult {
  ReferenceResult plain;
  bool transforms_scores = false, transforms_values = false;  // rows of q or k; of v
};

// Errors of many numbers: the largest, and the root of the mean square of the shares that they are
// of the floor of their row (see comparison.cpp), which makes rows of all sizes count alike.
class ErrorTally {
 public:
  void add(double error, double floor);
  void add(const ErrorTally& other);
  double largest() const { return largest_; }
  double typical() const;
  int64_t count() const { return count_; }

 private:
  double largest_ = 0, squares_ = 0;
  int64_t count_ = 0;
};

// Of the kernel and of the plain evaluation.
struct ErrorSummary {
  ErrorTally out, plain_out, lse, plain_lse, row_max, plain_row_max, row_sum, plain_row_sum;
  ErrorTally probabilities, plain_probabilities;
  void add(const ErrorSummary& other);
  std::string text() const;  // largest errors in units of 2^-24
};

// Both references over the call of a problem; every row_step-th row.
Expected expected_results(const Problem& problem, int64_t row_step = 1);
// Over another call of the same variant, with the same parameters.
Expected expected_results(const Problem& problem, const fovea_call& call, int64_t row_step = 1);

// Empty if `got` keeps the rule, else the first element that breaks it. NaN and infinity must stand
// where they are expected, with their sign.
std::string compare(const Results& got, const Expected& expected, ErrorSummary* summary = nullptr);

// Runs and compares with the references.
void expect_accurate(Problem& problem, ErrorSummary* summary = nullptr, int64_t row_step = 1);

}  // namespace fovea::test

#endif
