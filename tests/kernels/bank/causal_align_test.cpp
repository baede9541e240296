// causal_align_test.cpp: where the diagonal lies when there are not as many queries as keys.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(AlignCausal, kernels_of_any_size({"causal"}));
FOVEA_BANK(AlignFull, kernels_of_any_size({"full"}));

// https://github.com/Dao-AILab/flash-attention/issues/1778
TEST_P(AlignCausal, Row22MoreQueriesThanKeys) {
  Problem problem(GetParam(), setup_of(5, 2));
  expect_means(problem, {empty, empty, empty, 1, 1.5});
}

// https://github.com/microsoft/onnxruntime/issues/29020
TEST_P(AlignCausal, Row23OneQueryIsTheLastToken) {
  CallSetup setup = setup_of(1, 8);
  Problem bottom_right(GetParam(), setup);
  expect_means(bottom_right, {4.5});
  setup.q_offset = {0};
  Problem top_left(GetParam(), setup);
  expect_means(top_left, {1});
}

// https://github.com/ml-explore/mlx/issues/2835
TEST_P(AlignCausal, Row25BothAlignmentsCanBeHad) {
  CallSetup setup = setup_of(2, 4);
  Problem bottom_right(GetParam(), setup);
  expect_means(bottom_right, {2, 2.5});
  setup.q_offset = {0};
  Problem top_left(GetParam(), setup);
  expect_means(top_left, {1, 1.5});
  if (GetParam().info().d_qk > 64 || GetParam().dtype() == FOVEA_BF16) return;
  CallSetup large = setup_of(32, 1024, 12, 12);
  large.batch = 4;
  Problem problem(GetParam(), large);
  expect_means(problem, means(32, 1024, [](int64_t i, int64_t k) { return k <= 992 + i; }));
}

// https://github.com/jax-ml/jax/issues/24491
TEST_P(AlignFull, Row26LengthsThatDiffer) {
  Problem problem(GetParam(), setup_of(4, 8));
  expect_means(problem, {4.5, 4.5, 4.5, 4.5});
}

}  // namespace
}  // namespace fovea::test::bank
