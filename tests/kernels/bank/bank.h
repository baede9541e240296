// bank.h: what the tests of the fault bank share.
//
// The bank turns reports about other attention libraries into tests: each report as its smallest
// input, with the right answer under this project's contract. RowN in a test's name is the number
// of the report in the collection they come from; the link above each test leads to it.
//
// Uniform weights: queries are zero and key j holds the value j + 1 in every feature, so that an
// output row is the mean of the visible key numbers, and any lost, doubled or foreign key shows.
//
// Calls of f16 and bf16 take part where their numbers can be held; answers are rounded to their
// type. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_KERNELS_BANK_BANK_H
#define FOVEA_TESTS_KERNELS_BANK_BANK_H

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/comparison.h"

namespace fovea::test::bank {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

class Bank : public KernelTest {
 protected:
  // A call of one sequence, with an LSE where the variant has one. Counts as a case.
  CallSetup setup_of(int64_t q_rows, int64_t kv_rows, int64_t heads = 1,
                     int64_t kv_heads = 1) const;
};

// The kernels of some variants: with 64 features, or of any size.
std::vector<TestKernel> kernels_for(std::initializer_list<const char*> variants);
std::vector<TestKernel> kernels_of_any_size(std::initializer_list<const char*> variants);

// Element functions.
double key_number(int64_t b, int64_t h, int64_t row, int64_t d);
Element first_feature(double value);       // `value` in feature 0, zero elsewhere
Element rows(std::vector<double> values);  // the same number in every feature of a row
Element rows_in_first_feature(std::vector<double> values);
Element constant(double value);
Element copy_of(const StridedTensor& tensor);

// Every feature of a row is this number, rounded to the type of the call; NaN in `expected` is a
// number nobody knows. A row that sees no key has the mean `empty` (output 0, LSE -infinity).
inline constexpr double empty = -1e300;
void expect_rows(const Problem& problem, const Results& got, const std::vector<double>& expected);
// Runs with uniform weights. The keys must be few enough for their numbers to be exact.
void expect_means(Problem& problem, const std::vector<double>& expected);

// Runs; the call must be refused with this status and a message that names `field`, and leave its
// outputs alone.
void expect_refused(Problem& problem, fovea_status status, const std::string& field);

// The mean of the key numbers (from 1) that `visible` picks for a row, `empty` if there are none.
template <typename F>
std::vector<double> means(int64_t q_rows, int64_t kv_rows, F&& visible) {
  std::vector<double> result;
  for (int64_t i = 0; i < q_rows; ++i) {
    double sum = 0, count = 0;
    for (int64_t k = 0; k < kv_rows; ++k) {
      if (!visible(i, k)) continue;
      sum += static_cast<double>(k + 1);
      ++count;
    }
    result.push_back(count == 0 ? empty : sum / count);
  }
  return result;
}

}  // namespace fovea::test::bank

// A fixture of one file, over some kernels.
#define FOVEA_BANK(suite, list)                      \
  class suite : public ::fovea::test::bank::Bank {}; \
  FOVEA_FOR_KERNELS(suite, list)

#endif
