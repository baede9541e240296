// lse_merge_test.cpp: the logarithm that lets parts of a row be merged.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(LseFull, kernels_of_any_size({"full"}));

// https://github.com/sgl-project/sglang/pull/35045
TEST_P(LseFull, Row116TheLogarithmIsNatural) {
  Problem problem(GetParam(), setup_of(1, 4));
  EXPECT_NEAR(problem.checked_run().lse[0], std::log(4.0), 2e-7);  // 1.386294
}

// https://github.com/LMCache/LMCache/pull/3092: one row more than a block of rows
TEST_P(LseFull, Row118TheLastRowIsComputed) {
  const int64_t q_rows = GetParam().info().block_rows + 1;
  Problem problem(GetParam(), setup_of(q_rows, 3));
  expect_means(problem, std::vector<double>(static_cast<size_t>(q_rows), 2));
}

}  // namespace
}  // namespace fovea::test::bank
