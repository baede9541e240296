// tail_block_test.cpp: numbers of keys that no block divides.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(TailFull, kernels_of_any_size({"full"}));
FOVEA_BANK(TailAlibi, kernels_for({"alibi_causal"}));
FOVEA_BANK(TailShortTable, kernels_for({"bank_short_table"}));
FOVEA_BANK(Tail96, kernels_of("full", 96, 96));
FOVEA_BANK(TailBlockMap, kernels_for({"bank_block_map"}));
FOVEA_BANK(Tail16, kernels_where([](const TestKernel& k) { return k.info().d_qk == 16; }));

// https://github.com/flashinfer-ai/flashinfer/issues/3716
TEST_P(TailFull, Row85LanesPastTheLastKeyDoNotCount) {
  for (const int64_t keys : {5, 63, 65, 127, 129}) {
    Problem problem(GetParam(), setup_of(1, keys));
    expect_means(problem, {static_cast<double>(keys + 1) / 2});
  }
}

// https://github.com/flashinfer-ai/flashinfer/pull/5090
TEST_P(TailFull, Row86LanesPastTheLastKeyWeighNothing) {
  for (const int64_t keys : {1, 33, 63, 65, 127, 129}) {
    CallSetup setup = setup_of(1, keys);
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup);
    problem.fill_q(first_feature(1));
    problem.fill_k(first_feature(-5));
    problem.fill_v(constant(1));
    expect_rows(problem, problem.checked_run(), {1});
  }
}

// https://github.com/pytorch/pytorch/issues/153799: score + (q - kv), causal
TEST_P(TailAlibi, Row88AScoreStepPastTheLastKeyDoesNotCount) {
  for (const int64_t length : {65, 129, 1025}) {
    Random random("row 88", static_cast<uint64_t>(length));
    Problem problem(GetParam(), setup_of(length, length), random);
    problem.params.set_table("slope", {1}, {-1});
    expect_accurate(problem, nullptr, length / 40);
    for (const float x : problem.results().out) ASSERT_TRUE(std::isfinite(x));
  }
}

// https://github.com/pytorch/pytorch/issues/150321: the table ends at an unreadable page
TEST_P(TailShortTable, Row89ATableIsNotReadPastItsEnd) {
  for (const int64_t length : {128, 127, 130, 300}) {
    Random random("row 89", static_cast<uint64_t>(length));
    Problem problem(GetParam(), setup_of(length, length), random);
    std::vector<double> bias(127);
    for (double& x : bias) x = random.real(-1, 1);
    problem.params.set_table("bias", {127}, bias);
    expect_accurate(problem);
  }
}

// https://github.com/tile-ai/tilelang/issues/1213
TEST_P(Tail96, Row91TwoHundredAndNinetySixKeys) {
  Random random("row 91", 0);
  Problem problem(GetParam(), setup_of(296, 296), random);
  expect_accurate(problem);
}

// https://github.com/pytorch/pytorch/pull/130352: sixteen entries, then an unreadable page
TEST_P(TailBlockMap, Row92ABlockListIsNotReadPastItsEnd) {
  for (const bool causal : {false, true}) {
    Problem problem(GetParam(), setup_of(256, 256));
    problem.params.set("rows_of_block", 64);
    problem.params.set("keys_of_block", 64);
    std::vector<double> visible(16, 1);
    for (size_t i = 0; causal && i < 16; ++i) visible[i] = i % 4 <= i / 4 ? 1 : 0;
    problem.params.set_table("visible", {4, 4}, visible);
    expect_means(problem, means(256, 256,
                                [&](int64_t i, int64_t k) { return !causal || k / 64 <= i / 64; }));
  }
}

// https://github.com/lucidrains/flash-attention-jax/issues/14
TEST_P(Tail16, Row94OneMoreThanAThousandAndTwentyFour) {
  Random random("row 94", 0);
  Problem problem(GetParam(), setup_of(1025, 1025), random);
  expect_accurate(problem, nullptr, 33);
}

}  // namespace
}  // namespace fovea::test::bank
