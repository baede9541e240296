// masked_garbage_test.cpp: what stands behind a mask or past a length has no effect.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(GarbageDenseMask, kernels_for({"test_dense_mask"}));
FOVEA_BANK(GarbageKeyBias, kernels_for({"test_key_bias"}));
FOVEA_BANK(GarbageFull, kernels_for({"full"}));

// https://github.com/pytorch/pytorch/issues/101967
TEST_P(GarbageDenseMask, Row8AHiddenKeyMayHoldAnything) {
  for (const double garbage : {nan, infinity, -infinity, 1e30}) {
    Random random("row 8", 0);
    Problem problem(GetParam(), setup_of(2, 2), random);
    problem.params.set_table("keep", {2, 2}, {1, 0, 1, 0});
    for (int64_t d = 0; d < 64; ++d) {
      problem.k.at(0, 0, 1, d) = problem.v.at(0, 0, 1, d) = static_cast<float>(garbage);
    }
    const Results got = problem.checked_run();
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(got.at(0, 0, i, d), problem.v.at(0, 0, 0, d));
  }
}

// https://github.com/pytorch/pytorch/pull/130014: a first block without any key
TEST_P(GarbageKeyBias, Row10AFirstBlockOfMinusInfinity) {
  for (const size_t hidden : {64, 128, 129, 192, 1024}) {
    const size_t keys = hidden + 8;
    const auto n = static_cast<int64_t>(keys);
    std::vector<double> visible(keys, 1), bias(keys, 0), value(keys, 1);
    std::fill_n(value.begin(), hidden, 5.0);
    std::fill_n(bias.begin(), hidden, -infinity);
    for (const bool by_mask : {false, true}) {
      if (by_mask) {
        std::fill_n(visible.begin(), hidden, 0.0);
        std::fill_n(value.begin(), hidden, nan);
      }
      Problem problem(GetParam(), setup_of(5, n));
      problem.params.set_table("bias", {n}, bias);
      problem.params.set_table("visible", {n}, visible);
      problem.fill_v(rows(value));
      expect_rows(problem, problem.checked_run(), {1, 1, 1, 1, 1});
    }
  }
}

// https://github.com/flashinfer-ai/flashinfer/issues/941
TEST_P(GarbageFull, Row11SlotsPastTheLengthMayHoldNan) {
  CallSetup setup = setup_of(3, 16);
  setup.kv_len = {13};
  Random random("row 11", 0);
  Problem poisoned(GetParam(), setup, random);
  for (const float x : {poisoned.k.at(0, 0, 13), poisoned.v.at(0, 0, 15)})
    ASSERT_TRUE(std::isnan(x));
  const Results got = poisoned.checked_run();
  for (int64_t row = 13; row < 16; ++row)
    for (int64_t d = 0; d < 64; ++d) poisoned.k.at(0, 0, row, d) = poisoned.v.at(0, 0, row, d) = 0;
  EXPECT_EQ(bit_difference(got, poisoned.checked_run()), "");
  EXPECT_EQ(compare(got, expected_results(poisoned)), "");
}

}  // namespace
}  // namespace fovea::test::bank
