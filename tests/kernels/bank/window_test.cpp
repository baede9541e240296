// window_test.cpp: how many keys a window holds, and which.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(WindowCausal, kernels_for({"causal_window"}));
FOVEA_BANK(WindowTwoSided, kernels_for({"test_two_sided"}));
FOVEA_BANK(WindowOrGroup, kernels_for({"bank_group_or_window"}));

// https://github.com/huggingface/transformers/issues/39408
TEST_P(WindowCausal, Row28TwoTokensAreTwo) {
  Problem problem(GetParam(), setup_of(4, 4));
  problem.params.set("window", 2);
  expect_means(problem, {1, 1.5, 2.5, 3.5});
}

// https://github.com/microsoft/onnxruntime/pull/25927
TEST_P(WindowCausal, Row29TheNewTokenIsOneOfThem) {
  Problem problem(GetParam(), setup_of(1, 4));
  problem.params.set("window", 2);
  expect_means(problem, {3.5});
}

// https://github.com/Dao-AILab/flash-attention/issues/2199
TEST_P(WindowTwoSided, Row31RowsWhoseWindowHoldsNoKey) {
  Problem problem(GetParam(), setup_of(8, 3));
  problem.params.set("left", 1);
  problem.params.set("right", 2);
  expect_means(problem, {empty, empty, empty, 1, 1.5, 2, 2, 2.5});
}

// https://github.com/jax-ml/jax/issues/32300
TEST_P(WindowTwoSided, Row32AWindowOfTheTokenItself) {
  Problem problem(GetParam(), setup_of(4, 4));
  problem.params.set("left", 0);
  problem.params.set("right", 0);
  expect_means(problem, {1, 2, 3, 4});
}

// https://github.com/openvinotoolkit/openvino/pull/35446: a union clips nothing
TEST_P(WindowOrGroup, Row37AGroupStaysWhole) {
  Problem problem(GetParam(), setup_of(8, 8));
  problem.params.set("window", 5);
  problem.params.set("first", 2);
  problem.params.set("last", 7);
  expect_means(problem, {1, 1.5, 4.5, 4.5, 4.5, 5, 5.5, 5.5});
}

}  // namespace
}  // namespace fovea::test::bank
