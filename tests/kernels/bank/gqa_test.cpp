// gqa_test.cpp: query heads that share a KV head.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(GroupedFull, kernels_of_any_size({"full"}));
FOVEA_BANK(GroupedPlain, kernels_for({"full", "causal"}));
FOVEA_BANK(GroupedFullBias, kernels_for({"test_full_bias"}));
FOVEA_BANK(GroupedMask, kernels_for({"bank_kv_head_mask"}));

// https://github.com/onnx/onnx/pull/7274
TEST_P(GroupedFull, Row53KvHeadsRepeatTheyDoNotAlternate) {
  Problem problem(GetParam(), setup_of(2, 3, 4, 2));
  problem.fill_v([](int64_t, int64_t h, int64_t, int64_t) { return h == 0 ? 10.0 : 20.0; });
  const Results got = problem.checked_run();
  for (int64_t h = 0; h < 4; ++h) EXPECT_EQ(got.at(0, h, 0), h < 2 ? 10.0f : 20.0f) << h;
}

// https://github.com/intel/torch-xpu-ops/issues/5090
TEST_P(GroupedFullBias, Row55EveryQueryHeadHasItsOwnPlane) {
  const auto visible = [](int64_t b, int64_t h, int64_t i, int64_t k) {
    return (b + 3 * h + i + k) % 5 != 0;
  };
  CallSetup setup = setup_of(8, 8, 8, 2);
  setup.batch = 3;
  Problem problem(GetParam(), setup);
  std::vector<double> bias;
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t h = 0; h < 8; ++h)
      for (int64_t i = 0; i < 8; ++i)
        for (int64_t k = 0; k < 8; ++k) bias.push_back(visible(b, h, i, k) ? 0 : -infinity);
  problem.params.set_table("bias", {3, 8, 8, 8}, bias);
  problem.fill_v(key_number);
  const Results got = problem.checked_run();
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t h = 0; h < 8; ++h) {
      const std::vector<double> expected =
          means(8, 8, [&](int64_t i, int64_t k) { return visible(b, h, i, k); });
      for (int64_t i = 0; i < 8; ++i) {
        ASSERT_EQ(got.at(b, h, i), static_cast<float>(expected[static_cast<size_t>(i)]))
            << b << " " << h << " " << i;
      }
    }
  }
}

// https://github.com/HKUSTDial/flash-sparse-attention/issues/107
TEST_P(GroupedMask, Row56OneQueryRowIsTheFirstOfTwo) {
  Results of[2];
  for (const int64_t q_rows : {2, 1}) {
    CallSetup setup = setup_of(q_rows, 128, 8, 2);
    setup.batch = 2;
    setup.q_offset = {0, 0};
    Random random("row 56", 0);
    Problem problem(GetParam(), setup);
    std::vector<double> keep;
    for (int64_t plane = 0; plane < 4; ++plane)
      for (int64_t i = 0; i < q_rows; ++i)
        for (int64_t k = 0; k < 128; ++k) keep.push_back((k + plane) % 3 == 0 ? 1 : 0);
    problem.params.set_table("keep", {2, 2, q_rows, 128}, keep);
    const auto number = [](int64_t b, int64_t h, int64_t row, int64_t d) {
      return std::sin(static_cast<double>(97 * b + 31 * h + 7 * row + d));
    };
    problem.fill_q(number);
    problem.fill_k(number);
    problem.fill_v(number);
    expect_accurate(problem);
    of[q_rows - 1] = problem.results();
  }
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 8; ++h)
      for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(of[0].at(b, h, 0, d), of[1].at(b, h, 0, d));
}

// https://github.com/ml-explore/mlx/issues/3383
TEST_P(GroupedPlain, Row58ABatchIsItsSequences) {
  CallSetup setup = setup_of(5, 70, 4, 2);
  setup.batch = 4;
  Random random("row 58", 0);
  Problem batch(GetParam(), setup, random);
  const Results together = batch.checked_run();
  for (int64_t b = 0; b < setup.batch; ++b) {
    Problem alone(GetParam(), setup_of(5, 70, 4, 2));
    const auto sequence = [b](const StridedTensor& t) {
      return [&t, b](int64_t, int64_t h, int64_t row, int64_t d) {
        return static_cast<double>(t.at(b, h, row, d));
      };
    };
    alone.fill_q(sequence(batch.q));
    alone.fill_k(sequence(batch.k));
    alone.fill_v(sequence(batch.v));
    const Results single = alone.checked_run();
    for (int64_t h = 0; h < 4; ++h)
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(single.at(0, h, i, d), together.at(b, h, i, d));
  }
}

}  // namespace
}  // namespace fovea::test::bank
