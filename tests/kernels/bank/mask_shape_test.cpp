// mask_shape_test.cpp: which number of a mask or bias belongs to which score.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(ShapeFullBias, kernels_for({"test_full_bias"}));
FOVEA_BANK(ShapeKeyBias, kernels_for({"test_key_bias"}));
FOVEA_BANK(ShapeDenseMask, kernels_for({"test_dense_mask"}));

// https://github.com/microsoft/onnxruntime/pull/24017: one plane for all heads, another one for the
// second sequence
TEST_P(ShapeFullBias, Row59PlanesBelongToTheirSequence) {
  CallSetup setup = setup_of(2, 2, 2, 2);
  setup.batch = 2;
  Problem problem(GetParam(), setup);
  std::vector<double> bias;
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 2; ++h)
      for (int q = 0; q < 2; ++q)
        for (int k = 0; k < 2; ++k) bias.push_back(k == b ? 0 : -1e4);
  problem.params.set_table("bias", {2, 2, 2, 2}, bias);
  problem.fill_v(key_number);
  const Results got = problem.checked_run();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(got.at(b, h, i), static_cast<float>(b + 1));
}

// https://github.com/microsoft/onnxruntime/issues/27885
TEST_P(ShapeKeyBias, Row61AMaskWithAHoleIsNoLength) {
  Problem problem(GetParam(), setup_of(1, 4));
  problem.params.set_table("visible", {4}, {1, 0, 1, 0});
  problem.params.set_table("bias", {4}, {0, 0, 0, 0});
  expect_means(problem, {2});
}

// https://github.com/microsoft/onnxruntime/issues/14363: the union of what two masks hide
TEST_P(ShapeDenseMask, Row62CausalAndPaddingTogether) {
  Problem problem(GetParam(), setup_of(7, 7, 13, 13));
  const double of_key[] = {0, 1, 1, 0, 0, 1, 0};
  std::vector<double> keep(49);
  for (size_t i = 0; i < 49; ++i) keep[i] = i % 7 <= i / 7 ? of_key[i % 7] : 0;
  problem.params.set_table("keep", {7, 7}, keep);
  expect_means(problem, {empty, 2, 2.5, 2.5, 2.5, 11.0 / 3, 11.0 / 3});
}

// https://github.com/pytorch/pytorch/issues/139462: a mask for other lengths
TEST_P(ShapeDenseMask, Row64AMaskThatIsTooSmallIsRefused) {
  CallSetup setup = setup_of(2, 2);
  setup.batch = 2;
  for (const auto& [q_rows, kv_rows] : {std::pair{2, 1}, {1, 2}}) {
    Problem problem(GetParam(), setup);
    problem.params.set_table(
        "keep", {q_rows, kv_rows},
        std::vector<double>(static_cast<size_t>(q_rows) * static_cast<size_t>(kv_rows), 1));
    expect_refused(problem, FOVEA_INVALID_ARGUMENT, "keep");
  }
  // One that is larger has a place for every score.
  Problem larger(GetParam(), setup);
  larger.params.set_table("keep", {256, 256}, std::vector<double>(256 * 256, 1));
  expect_means(larger, {1.5, 1.5});
}

// https://github.com/ml-explore/mlx/issues/2626: a mask selects, a bias adds, whatever its numbers
TEST_P(ShapeDenseMask, Row65OnesOfAMaskSelect) {
  Problem problem(GetParam(), setup_of(8, 8));
  std::vector<double> keep(64);
  for (size_t i = 0; i < 64; ++i) keep[i] = i / 8 < 4 && i % 8 < 4 ? 1 : 0;
  problem.params.set_table("keep", {8, 8}, keep);
  expect_means(problem, {2.5, 2.5, 2.5, 2.5, empty, empty, empty, empty});
}

TEST_P(ShapeFullBias, Row65OnesOfABiasAdd) {
  Problem problem(GetParam(), setup_of(8, 8));
  std::vector<double> bias(64);
  for (size_t i = 0; i < 64; ++i) bias[i] = i / 8 < 4 && i % 8 < 4 ? 1 : 0;
  problem.params.set_table("bias", {1, 1, 8, 8}, bias);
  problem.fill_v(key_number);
  const Results got = problem.checked_run();
  const double e = std::exp(1.0), upper = (10 * e + 26) / (4 * e + 4);
  for (int64_t i = 0; i < 8; ++i) EXPECT_NEAR(got.at(0, 0, i), i < 4 ? upper : 4.5, 2e-6) << i;
}

}  // namespace
}  // namespace fovea::test::bank
