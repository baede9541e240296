// sinks_test.cpp: a logit that takes part in the sum and carries no value.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(Sink, kernels_for({"test_sink_head"}));
FOVEA_BANK(SinkMask, kernels_for({"test_sink_mask"}));

// https://github.com/modular/modular/issues/6198
TEST_P(Sink, Row38ASinkTakesItsShare) {
  Problem problem(GetParam(), setup_of(3, 4));
  problem.params.set_table("sink", {1}, {2});
  problem.fill_v(constant(1));
  const Results got = problem.checked_run();
  const double expected = 4 / (4 + std::exp(2.0));  // 0.35122
  for (const float x : got.out) ASSERT_NEAR(x, expected, 3e-7);
  for (const float x : got.lse) EXPECT_NEAR(x, std::log(4 + std::exp(2.0)), 1e-6);
}

// https://github.com/Dao-AILab/flash-attention/pull/2752: far above the logits
TEST_P(Sink, Row40ALargeSinkLeavesNothing) {
  for (const double sink : {100.0, 1000.0, 1e20}) {
    Problem problem(GetParam(), setup_of(1, 2));
    problem.params.set_table("sink", {1}, {sink});
    problem.fill_v(constant(1));
    const Results got = problem.checked_run();
    for (const float x : got.out) {
      ASSERT_GE(x, 0.0f);
      ASSERT_LE(x, 1e-42f);
    }
    EXPECT_EQ(got.lse[0], static_cast<float>(sink));
  }
}

// The same report: a row without any key
TEST_P(Sink, Row40TheLseOfAnEmptyRowIsTheSink) {
  Problem problem(GetParam(), setup_of(5, 0, 2, 1));
  problem.params.set_table("sink", {2}, {0.5, -3});
  const Results got = problem.checked_run();
  for (const float x : got.out) ASSERT_EQ(x, 0.0f);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got.lse[got.row(0, 0, i)], 0.5f);
    EXPECT_EQ(got.lse[got.row(0, 1, i)], -3.0f);
  }
}

TEST_P(SinkMask, Row40TheLseOfAMaskedRowIsTheSink) {
  for (const int64_t keys : {1, 64, 200}) {
    Problem problem(GetParam(), setup_of(5, keys));
    problem.params.set_table("sink", {1}, {0.5});
    problem.params.set_table("visible", {1, keys},
                             std::vector<double>(static_cast<size_t>(keys), 0));
    problem.fill_v(constant(nan));
    const Results got = problem.checked_run();
    for (const float x : got.out) ASSERT_EQ(x, 0.0f);
    for (const float x : got.lse) EXPECT_EQ(x, 0.5f);
  }
}

// https://github.com/ROCm/rocm-libraries/pull/12229: eight keys in one block, in several, and with
// blocks between them that hold none
TEST_P(SinkMask, Row41ASinkCountsOnceWhateverTheBlocks) {
  for (const size_t step : {1, 16, 64, 128, 300}) {
    const size_t keys = 8 * step + 3;
    const auto n = static_cast<int64_t>(keys);
    std::vector<double> visible(keys, 0);
    for (size_t i = 0; i < 8; ++i) visible[(i + 1) * step - 1] = 1;
    Problem problem(GetParam(), setup_of(3, n));
    problem.params.set_table("sink", {1}, {1});
    problem.params.set_table("visible", {1, n}, visible);
    problem.fill_v(constant(1));
    const Results got = problem.checked_run();
    const double e = std::exp(1.0);
    for (const float x : got.out) ASSERT_NEAR(x, 8 / (8 + e), 3e-7) << step;  // 0.74639
    for (const float x : got.lse) EXPECT_NEAR(x, std::log(8 + e), 1e-6) << step;
  }
}

// A sink of minus infinity is none.
TEST_P(Sink, Row38NoSinkIsMinusInfinity) {
  Random random("no sink", 0);
  Problem problem(GetParam(), setup_of(5, 70, 2, 1), random);
  problem.params.set_table("sink", {2}, {-infinity, -infinity});
  expect_accurate(problem);
  Problem nothing(GetParam(), setup_of(2, 0));
  nothing.params.set_table("sink", {1}, {-infinity});
  expect_rows(nothing, nothing.checked_run(), {empty, empty});
}

}  // namespace
}  // namespace fovea::test::bank
