// long_test.cpp: sequences beyond 16 bits, and sizes that no block divides.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

class Long : public KernelTest {
 protected:
  bool is(const char* variant) const { return GetParam().variant_name() == variant; }
  // Numbers quick to make; the reference looks at samples and at the last row.
  void expect_samples(Problem& problem, int64_t row_step) {
    expect_accurate(problem, nullptr, row_step);
  }
};
FOVEA_FOR_KERNELS(Long, kernels_where([](const TestKernel& k) {
                    const std::string v = k.variant_name();
                    return ((v == "causal" || v == "full") &&
                            (k.info().d_qk == 8 || k.info().d_qk == 16)) ||
                           (v == "causal_window" || v == "global_window" || v == "padded");
                  }));

class LongFull : public Long {};
FOVEA_FOR_KERNELS(LongFull, kernels_where([](const TestKernel& k) {
                    return k.variant_name() == "full" &&
                           (k.info().d_qk == 8 || k.info().d_qk == 16);
                  }));

class LongWindow : public Long {};
FOVEA_FOR_KERNELS(LongWindow, kernels_where([](const TestKernel& k) {
                    return k.variant_name() == "causal_window" && k.info().d_qk == 64 &&
                           k.dtype() == FOVEA_F32 && !k.decodes();
                  }));

class LongPlain : public Long {};
FOVEA_FOR_KERNELS(LongPlain, kernels_where([](const TestKernel& k) {
                    return (k.variant_name() == "full" || k.variant_name() == "causal") &&
                           (k.info().d_qk == 16 || k.info().d_qk == 96);
                  }));

// The last rows of a causal call, and all rows of a narrow window, at 2^16 and one more.
TEST_P(Long, MoreThan16Bits) {
  for (const int64_t length : {65536, 65537}) {
    Random random("long", static_cast<uint64_t>(length));
    const bool windowed = is("causal_window") || is("global_window");
    CallSetup setup = plain_setup(windowed ? length : 3, length);
    setup.wants_lse = (GetParam().variant().outputs & FOVEA_OUTPUT_LSE) != 0;
    setup.threads = 2;
    // Rows of zeros that all lie in one place, but for the last ones, keep the test quick.
    if (windowed) setup.k.shared[2] = setup.q.shared[2] = true;
    Problem problem(GetParam(), setup, random);
    if (windowed) problem.params.set("window", 5);
    if (is("global_window")) problem.params.set("global", 3);
    if (is("padded")) problem.params.set_table("length", {1}, {static_cast<double>(length - 1)});
    expect_samples(problem, windowed ? 9973 : 1);
  }
}

// Every row its own numbers, which the shared rows above are not.
TEST_P(LongWindow, WindowOf1024Over2To17Rows) {
  constexpr int64_t length = 131072;
  Random random("long window", 0);
  CallSetup setup = plain_setup(length, length);
  setup.wants_lse = false;
  setup.threads = 2;
  Problem problem(GetParam(), setup, random);
  problem.params.set("window", 1024);
  expect_samples(problem, 26003);
}

// The mean of many ones is one, of many numbers their mean.
TEST_P(LongFull, ManyEqualWeights) {
  constexpr int64_t keys = 100003;
  CallSetup setup = plain_setup(1, keys);
  setup.k.shared[2] = true;
  Problem problem(GetParam(), setup);
  problem.fill_v([](int64_t, int64_t, int64_t row, int64_t d) {
    return d == 0 ? 1.0 : static_cast<double>(row % 2);
  });
  const Results got = problem.checked_run();
  EXPECT_EQ(got.at(0, 0, 0, 0), 1.0f);
  EXPECT_EQ(got.at(0, 0, 0, 1), problem.rounded(50001.0 / 100003.0));
  EXPECT_NEAR(got.lse[0], std::log(100003.0), 2e-6);
  count_case();
}

// One key of score 8 among many of score 0.
TEST_P(LongFull, OneKeyAmongMany) {
  constexpr int64_t keys = 32768;
  for (const int64_t at : {int64_t{0}, int64_t{17000}, keys - 1}) {
    count_case();
    CallSetup setup = plain_setup(1, keys);
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup);
    problem.q.at(0, 0, 0, 0) = 1;
    problem.k.at(0, 0, at, 0) = 8;
    problem.v.at(0, 0, at, 0) = 1;
    const double weight = std::exp(8) / (std::exp(8) + keys - 1);
    EXPECT_NEAR(problem.checked_run().at(0, 0, 0), weight, 1e-7 + GetParam().rounding(weight))
        << at;
  }
}

TEST_P(LongPlain, LengthsThatNoBlockDivides) {
  for (const auto& [q_rows, kv_rows] : {std::pair{296, 296}, {1025, 1025}, {100, 260}, {33, 577}}) {
    Random random("odd", static_cast<uint64_t>(q_rows));
    CallSetup setup = plain_setup(q_rows, kv_rows);
    setup.threads = 2;
    Problem problem(GetParam(), setup, random);
    expect_samples(problem, 31);
  }
}

}  // namespace
}  // namespace fovea::test
