// extreme_logits_test.cpp: scores far from zero.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(ExtremeFull, kernels_where([](const TestKernel& k) {
             return k.variant_name() == "full" && (k.info().d_qk == 1 || k.info().d_qk == 64);
           }));
FOVEA_BANK(ExtremeKeyBias, kernels_for({"test_key_bias"}));
FOVEA_BANK(ExtremeSoftcap, kernels_for({"softcapped_window"}));
FOVEA_BANK(ExtremeFullBias, kernels_for({"test_full_bias"}));
FOVEA_BANK(ExtremeWide, kernels_of("full", 128, 128));

// https://github.com/flashinfer-ai/flashinfer/issues/4450
TEST_P(ExtremeFull, Row13LogitsBelowAnySentinel) {
  for (const double logit : {-1e5, -5e4, -1e10, -0.9e29}) {
    CallSetup setup = setup_of(1, 2);
    // Numbers of f16 are not that large: the scale is.
    const double scale = GetParam().dtype() == FOVEA_F32 ? 1 : -logit;
    setup.scale = static_cast<float>(scale);
    Problem problem(GetParam(), setup);
    problem.fill_q(first_feature(1));
    problem.fill_k(first_feature(logit / scale));
    problem.fill_v(rows({1, 3}));
    const Results got = problem.checked_run();
    expect_rows(problem, got, {2});
    if (logit == -1e5) {
      EXPECT_NEAR(got.lse[0], -99999.307, 0.01);  // a unit in the last place is 0.008
    }
  }
}

// https://github.com/flashinfer-ai/flashinfer/pull/4401: the two keys lie in blocks apart
TEST_P(ExtremeKeyBias, Row14LogitsBelowAnySentinelInSeveralBlocks) {
  constexpr size_t keys = 300;
  for (const size_t second : {1, 64, 128, 299}) {
    std::vector<double> visible(keys, 0), value(keys, 7);
    visible[0] = visible[second] = 1;
    value[0] = 1, value[second] = 3;
    CallSetup setup = setup_of(1, keys);
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup);
    problem.params.set_table("visible", {keys}, visible);
    problem.params.set_table("bias", {keys}, std::vector<double>(keys, 0));
    problem.fill_q(first_feature(1));
    problem.fill_k(first_feature(-100000));
    problem.fill_v(rows(value));
    expect_rows(problem, problem.checked_run(), {2});
  }
}

// https://github.com/NVIDIA/TensorRT-LLM/pull/18044: scores of 741455
TEST_P(ExtremeWide, Row16ScoresBeyondHalfPrecision) {
  Problem problem(GetParam(), setup_of(1, 2));
  problem.fill_q(constant(256));
  problem.fill_k(constant(256));
  problem.fill_v(rows({1, 3}));
  expect_rows(problem, problem.checked_run(), {2});
}

// https://github.com/ultralytics/ultralytics/pull/24990: products of 5.76e6
TEST_P(ExtremeFull, Row17ProductsBeyondHalfPrecision) {
  CallSetup setup = setup_of(1, 2);
  setup.scale = 0.125f;
  Problem problem(GetParam(), setup);
  problem.fill_q(constant(300));
  problem.fill_k(constant(300));
  problem.fill_v(rows({0, 8}));
  expect_rows(problem, problem.checked_run(), {4});
}

// https://github.com/lightseekorg/tokenspeed/pull/183
TEST_P(ExtremeSoftcap, Row19TanhOfLargeLogits) {
  for (const double logit : {1e4, 1e8, 1e20}) {
    for (const bool first : {true, false}) {
      CallSetup setup = setup_of(1, 2);
      setup.scale = 1.0f;
      Problem problem(GetParam(), setup);
      problem.params.set("softcap", 30);
      problem.params.set("window", 10);
      problem.fill_q(first_feature(1));
      problem.fill_k(rows_in_first_feature({first ? logit : -logit, first ? 0 : logit}));
      problem.fill_v(rows({2, 5}));
      EXPECT_NEAR(problem.checked_run().at(0, 0, 0), first ? 2.0 : 5.0,
                  1e-6 + GetParam().rounding(5))
          << logit;
    }
  }
}

// https://github.com/huggingface/transformers/pull/18057: the sum is made in f32
TEST_P(ExtremeFullBias, Row20TheLowestHalfAsAMask) {
  CallSetup setup = setup_of(2, 3);
  setup.scale = 1.0f;
  Problem problem(GetParam(), setup);
  problem.params.set_table("bias", {1, 1, 3, 3}, std::vector<double>(9, -65504));
  problem.fill_q(first_feature(1));
  problem.fill_k(first_feature(-100));
  problem.fill_v(key_number);
  const Results got = problem.checked_run();
  expect_rows(problem, got, {2, 2});
  for (const float x : got.lse) EXPECT_NEAR(x, -65604 + std::log(3.0), 0.01);
}

}  // namespace
}  // namespace fovea::test::bank
