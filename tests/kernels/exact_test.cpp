// exact_test.cpp: calls whose answer f32 holds exactly are answered exactly, without tolerance:
// f16 and bf16 ones with that answer rounded once, to the nearest, ties to even.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/support/comparison.h"
#include "tests/support/invariance.h"

namespace fovea::test {
namespace {

// Anything but a mask would disturb the weights that these calls rely on.
class ExactAnswer : public KernelTest {
 protected:
  // Every output equals the reference, rounded to f32, and to the type of the call.
  static void expect_exact(Problem& problem) {
    count_case();
    const Results got = problem.checked_run();
    const Expected expected = expected_results(problem);
    for (size_t i = 0; i < got.out.size(); ++i) {
      if (expected.computed[i / static_cast<size_t>(got.d_v)] == 0) continue;
      ASSERT_EQ(got.out[i], problem.rounded(expected.out[i])) << i << " of " << problem.text();
    }
    EXPECT_EQ(compare(got, expected), "") << problem.text();
  }
  CallSetup draw_setup(int i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i));
    CallSetup setup = random_setup(GetParam(), random);
    setup.scale.reset();
    setup.packed = false;  // q, k and v are filled apart
    return setup;
  }
  Problem make(const CallSetup& setup, int i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 1000);
    return {GetParam(), setup, random};
  }
};
FOVEA_FOR_KERNELS(ExactAnswer, kernels_where([](const TestKernel& k) {
                    return is_masked_softmax(k.declaration());
                  }));

constexpr int calls = 6;

// Equal scores: the mean of the visible values, small integers here.
TEST_P(ExactAnswer, MeanOfVisibleValues) {
  for (int i = 0; i < calls && !HasFailure(); ++i) {
    CallSetup setup = draw_setup(i);
    Problem problem = make(setup, i);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t) { return 0.0; });
    problem.fill_v([](int64_t b, int64_t h, int64_t row, int64_t d) {
      return static_cast<double>((7 * row + 3 * d + b - h) % 11 - 4);
    });
    expect_exact(problem);
  }
}

// One value everywhere: any weights give it back, if they are all the same.
TEST_P(ExactAnswer, MeanOfEqualValues) {
  for (int i = 0; i < calls && !HasFailure(); ++i) {
    Problem problem = make(draw_setup(i), i);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t) { return 0.0; });
    problem.fill_v([](int64_t, int64_t, int64_t, int64_t) { return 1.0; });
    expect_exact(problem);
  }
}

// One score far above the others: its value, bit for bit.
TEST_P(ExactAnswer, TheOnlyKeyThatCounts) {
  for (int i = 0; i < 2 * calls && !HasFailure(); ++i) {
    CallSetup setup = draw_setup(i);
    setup.scale = 200.0f;
    setup.k.shared = {};
    Problem problem = make(setup, i);
    // Rising, falling and shuffled scores move the maximum into any block; each rank is there once.
    // Up to what one bf16 can hold, or else one f16 and two bf16.
    const int64_t prime = setup.kv_rows <= 257 ? 257 : 2039;
    ASSERT_LE(setup.kv_rows, prime);
    const auto rank = [i, prime](int64_t row) {
      return i % 3 == 0 ? row : i % 3 == 1 ? -row : (row * 101) % prime;
    };
    // Two features hold the rank as bf16 can.
    const bool has_two = GetParam().info().d_qk > 1;
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t d) { return d < 2 ? 1.0 : 0.0; });
    problem.fill_k([&](int64_t, int64_t, int64_t row, int64_t d) {
      const auto score = static_cast<double>(rank(row));
      const double fine = has_two ? std::fmod(score, 16) : 0;
      return d == 0 ? score - fine : d == 1 ? fine : 0.0;
    });
    expect_exact(problem);
  }
}

// Any finite logit below 1e29: ties share, everything else is out of reach.
TEST_P(ExactAnswer, HugeLogits) {
  for (int i = 0; i < 2 * calls && !HasFailure(); ++i) {
    CallSetup setup = draw_setup(i);
    const double size = i % 4 == 0 ? 1e4 : i % 4 == 1 ? 1e5 : i % 4 == 2 ? 1e20 : 0.99e29;
    const double sign = i % 3 == 0 ? -1 : 1;
    // Numbers of f16 are not that large: the scale is.
    const bool is_f16 = GetParam().dtype() == FOVEA_F16;
    const double of_scale = is_f16 ? size : 1, of_query = is_f16 ? 1 : 1e10;
    setup.scale = static_cast<float>(of_scale);
    Problem problem = make(setup, i);
    problem.fill_q(
        [&](int64_t, int64_t, int64_t, int64_t d) { return d == 0 ? sign * of_query : 0; });
    problem.fill_k([&](int64_t, int64_t, int64_t row, int64_t d) {
      // With i odd all scores are of the same sign: nothing is near 0 or near a sentinel.
      const double step = static_cast<double>((row * 5) % 7 - 3) / 3.0;
      return d == 0 ? size / of_scale / of_query * (i % 2 == 0 ? step : 1.0) : 0.0;
    });
    problem.fill_v([](int64_t, int64_t, int64_t row, int64_t d) {
      return static_cast<double>((3 * row + d) % 8);
    });
    expect_exact(problem);
  }
}

}  // namespace
}  // namespace fovea::test
