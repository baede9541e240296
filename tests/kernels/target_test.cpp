// target_test.cpp: each instruction set can be forced, and explain names the kernel that runs.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <map>

#include "runtime/src/preference.h"
#include "tests/support/explanation.h"
#include "tests/support/problem.h"

namespace fovea::test {
namespace {

class Targets : public testing::TestWithParam<TestKernel> {
 protected:
  void TearDown() override {
    unsetenv("FOVEA_TARGET");
    fovea_set_enabled_targets(nullptr);
  }
  static std::string explain(const Problem& problem, fovea_status* status) {
    std::string text(1 << 16, '\0');
    *status = fovea_variant_explain(problem.kernel().library, problem.kernel().info().variant,
                                    &problem.call, text.data(), text.size());
    return text.substr(0, text.find('\0'));
  }
  // The call runs this very kernel, or says that this machine cannot.
  void expect_forced(Problem& problem, const char* by) {
    count_case();
    const bool runnable = why_not_runnable(GetParam().target()).empty();
    fovea_status status = FOVEA_OK;
    const std::string text = explain(problem, &status);
    EXPECT_EQ(status, runnable ? FOVEA_OK : FOVEA_UNSUPPORTED) << text;
    EXPECT_EQ(problem.run(), status) << fovea_last_message();
    if (!runnable) return;
    const std::string chosen =
        "chosen: " + std::string(GetParam().info().name) + " (" + by + " forces";
    EXPECT_EQ(text.substr(0, chosen.size()), chosen) << text;
    if (expected_.out.empty()) {
      expected_ = problem.results();
    } else {
      EXPECT_EQ(bit_difference(problem.results(), expected_), "");
    }
  }
  Results expected_;
};
INSTANTIATE_TEST_SUITE_P(, Targets, testing::ValuesIn(all_kernels()), test_name);

TEST_P(Targets, CanBeForced) {
  Random random("targets", 0);
  CallSetup setup = plain_setup(5, 70);
  setup.wants_lse = false;
  Problem problem(GetParam(), setup, random);
  expect_forced(problem, "exec.target");
  problem.exec.target = nullptr;
  setenv("FOVEA_TARGET", GetParam().target().name, 1);
  expect_forced(problem, "FOVEA_TARGET");
  // The argument wins over the environment.
  setenv("FOVEA_TARGET", "no-such-target", 1);
  problem.exec.target = GetParam().target().name;
  expect_forced(problem, "exec.target");
  problem.exec.target = nullptr;
  EXPECT_EQ(problem.run(), FOVEA_INVALID_ARGUMENT);
  unsetenv("FOVEA_TARGET");
  // With every other target switched off, it is the best one left.
  ASSERT_EQ(fovea_set_enabled_targets(GetParam().target().name), FOVEA_OK);
  if (why_not_runnable(GetParam().target()).empty()) {
    EXPECT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(bit_difference(problem.results(), expected_), "");
  } else {
    EXPECT_EQ(problem.run(), FOVEA_UNSUPPORTED);
  }
}

TEST_P(Targets, TheBestOneRunsWithoutBeingAsked) {
  Random random("targets", 1);
  CallSetup setup = plain_setup(5, 70);
  setup.wants_lse = false;
  Problem problem(GetParam(), setup, random);
  problem.exec.target = nullptr;
  const char* best = nullptr;
  int32_t preference = -1;
  for (const TestKernel& k :
       kernels_of(GetParam().variant_name(), GetParam().info().d_qk, GetParam().info().d_v)) {
    if (k.library != GetParam().library || k.dtype() != GetParam().dtype()) continue;
    // Some CPU families prefer another target than its row says.
    const int32_t here = detail::preference_of(k.target(), k.dtype(), detail::cpu_family()).value;
    if (here <= preference || !why_not_runnable(k.target()).empty()) continue;
    best = k.info().name;
    preference = here;
  }
  fovea_status status = FOVEA_OK;
  const std::string text = explain(problem, &status);
  if (best) {
    EXPECT_EQ(text.rfind("chosen: " + std::string(best) + " (", 0), 0U) << text;
  } else {
    EXPECT_EQ(status, FOVEA_UNSUPPORTED) << text;
    EXPECT_EQ(text.find("chosen: "), std::string::npos) << text;
  }
  // Every candidate has its answer.
  EXPECT_NE(answer_about(text, GetParam().info().name), "") << text;
}

// Instruction sets differ in rounding only.
TEST(TargetsTogether, AgreeOnWhatIsNanAndInfinite) {
  std::map<std::string, Results> first;
  for (const TestKernel& kernel : kernels_of("causal")) {
    if (!why_not_runnable(kernel.target()).empty()) continue;
    const std::string dims = std::to_string(kernel.info().d_qk) + "/" +
                             std::to_string(kernel.info().d_v) + "/" +
                             std::to_string(kernel.dtype());
    Random random("agree", 0);
    Problem problem(kernel, plain_setup(60, 50), random);
    problem.v.at(0, 0, 20, 0) = std::numeric_limits<float>::quiet_NaN();
    const Results got = problem.checked_run();
    const auto [it, is_new] = first.emplace(dims, got);
    for (size_t i = 0; i < got.out.size() && !is_new; ++i) {
      ASSERT_EQ(std::isnan(got.out[i]), std::isnan(it->second.out[i])) << kernel.info().name;
      if (std::isnan(got.out[i])) continue;
      ASSERT_NEAR(got.out[i], it->second.out[i], 1e-5 + kernel.rounding(1));
    }
  }
}

}  // namespace
}  // namespace fovea::test
