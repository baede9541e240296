// nonfinite_test.cpp: NaN, infinity and huge numbers reach the rows that see them, and no others.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

class NonFinite : public KernelTest {
 protected:
  // `poison` in one element. Outputs the reference says it reaches must be NaN, where poison is
  // NaN; all others keep their bits.
  static void expect_reach(Problem& problem, const Results& clean, float& element) {
    count_case();
    const float before = element;
    element = nan;
    const Expected expected = expected_results(problem);
    for (const float poison : {nan, -nan, inf, -inf, 1e30f}) {
      element = poison;
      const Results got = problem.checked_run();
      for (size_t i = 0; i < got.out.size(); ++i) {
        if (expected.computed[i / static_cast<size_t>(got.d_v)] == 0) continue;
        check(problem, poison, expected.out[i], got.out[i], clean.out[i]);
      }
      for (size_t i = 0; i < got.lse.size(); ++i) {
        if (expected.computed[i] != 0)
          check(problem, poison, expected.lse[i], got.lse[i], clean.lse[i]);
      }
      if (HasFailure()) return;
    }
    element = before;
  }

 private:
  static void check(const Problem& problem, float poison, double expected, float got, float clean) {
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got) || !std::isnan(poison)) << "lost in " << problem.text();
    } else {
      ASSERT_EQ(std::memcmp(&got, &clean, sizeof(got)), 0)
          << poison << " made " << got << " of " << clean << " in " << problem.text();
    }
  }
};
// A score step may drop a NaN by its own formula (min, max); one variant does.
FOVEA_FOR_KERNELS(NonFinite, kernels_where([](const TestKernel& k) {
                    return k.variant_name() != "test_functions" && k.info().d_qk <= 64;
                  }));

TEST_P(NonFinite, ReachesOnlyTheRowsThatSeeIt) {
  for (int i = 0; i < 5 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 500);
    CallSetup setup = random_setup(GetParam(), random);
    setup.q.shared = setup.k.shared = setup.v.shared = {};
    setup.wants_lse = (GetParam().variant().outputs & FOVEA_OUTPUT_LSE) != 0;
    Problem problem(GetParam(), setup, random);
    const Results clean = problem.checked_run();
    const int64_t b = random.integer(0, setup.batch - 1);
    const auto element_of = [&](const StridedTensor& t, int64_t rows) -> float& {
      return t.at(b, random.integer(0, t.view().extent[1] - 1), random.integer(0, rows - 1),
                  random.integer(0, t.view().extent[3] - 1));
    };
    if (setup.q_len_of(b) == 0 || setup.kv_len_of(b) == 0) continue;
    expect_reach(problem, clean, element_of(problem.k, setup.kv_len_of(b)));
    expect_reach(problem, clean, element_of(problem.v, setup.kv_len_of(b)));
    expect_reach(problem, clean, element_of(problem.q, setup.q_len_of(b)));
  }
}

class NonFiniteFormula : public KernelTest {};
FOVEA_FOR_KERNELS(NonFiniteFormula, kernels_where([](const TestKernel& k) {
                    return !k.has_score_steps() && k.info().d_qk <= 64;
                  }));

// A weight that underflows to 0 does not take a NaN value out of the row: 0 * NaN.
TEST_P(NonFiniteFormula, ZeroWeightKeepsANanValue) {
  for (const int64_t key : {0, 5, 63, 64, 129}) {
    count_case();
    Random random("zero weight", static_cast<uint64_t>(key));
    CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 130);
    setup.scale = 1.0f;
    setup.wants_lse = (GetParam().variant().outputs & FOVEA_OUTPUT_LSE) != 0;
    Problem problem(GetParam(), setup, random);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t) { return 1.0; });
    problem.fill_k([&](int64_t, int64_t, int64_t row, int64_t) { return row == key ? -900 : 0; });
    problem.v.at(0, 0, key, 0) = nan;
    EXPECT_EQ(compare(problem.checked_run(), expected_results(problem)), "") << problem.text();
  }
}

// Scores of minus infinity weigh nothing; one of plus infinity, or two infinities that meet, is
// NaN; an infinite value is infinite.
TEST_P(NonFiniteFormula, InfinitiesFollowTheFormula) {
  struct Case {
    float query, key, value;
  };
  for (const Case& c : {Case{1, -inf, 1}, Case{1, inf, 1}, Case{-inf, 1, 1}, Case{inf, 1, 1},
                        Case{0, inf, 1}, Case{1, 1, inf}, Case{1, 1, -inf}, Case{1, nan, 1}}) {
    for (const int64_t key : {0, 40, 100}) {
      count_case();
      Random random("infinities", static_cast<uint64_t>(key));
      CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 130);
      setup.wants_lse = (GetParam().variant().outputs & FOVEA_OUTPUT_LSE) != 0;
      Problem problem(GetParam(), setup, random);
      problem.fill_q([&](int64_t, int64_t, int64_t row, int64_t d) {
        return d != 0 ? 0.0 : row == 1 ? static_cast<double>(c.query) : 1.0;
      });
      problem.k.at(0, 0, key, 0) = c.key;
      problem.v.at(0, 0, key, 0) = c.value;
      EXPECT_EQ(compare(problem.checked_run(), expected_results(problem)), "")
          << c.query << " " << c.key << " " << c.value << " at " << key << ": " << problem.text();
    }
  }
}

}  // namespace
}  // namespace fovea::test
