// softcap_test.cpp: scores squeezed by cap * tanh(score / cap), before the mask.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(Softcap, kernels_for({"softcapped_window"}));

// https://github.com/Dao-AILab/flash-attention/pull/1025: the smaller the cap, the larger the leak
TEST_P(Softcap, Row43AHiddenKeyDoesNotLeak) {
  for (const double cap : {50.0, 1.0, 0.01}) {
    Random random("row 43", 0);
    Problem problem(GetParam(), setup_of(2, 2), random);
    problem.params.set("softcap", cap);
    problem.params.set("window", 10);
    const Results got = problem.checked_run();
    for (int64_t d = 0; d < got.d_v; ++d) ASSERT_EQ(got.at(0, 0, 0, d), problem.v.at(0, 0, 0, d));
  }
}

// https://github.com/microsoft/onnxruntime/pull/21683
TEST_P(Softcap, Row44TheScoreIsDividedByTheCap) {
  CallSetup setup = setup_of(1, 2);
  setup.scale = 1.0f;
  Problem problem(GetParam(), setup);
  problem.params.set("softcap", 2);
  problem.params.set("window", 10);
  problem.fill_q(first_feature(1));
  problem.fill_k(rows_in_first_feature({2, 0}));
  problem.fill_v(rows({1, 0}));
  const double capped = 2 * std::tanh(1.0);           // 1.52319
  const double weight = 1 / (1 + std::exp(-capped));  // 0.82101
  EXPECT_NEAR(problem.checked_run().at(0, 0, 0), weight, 5e-7 + GetParam().rounding(weight));
}

}  // namespace
}  // namespace fovea::test::bank
