// half_precision_test.cpp: what is special about f16 and bf16: rounding, subnormal numbers, the
// range of f16, payloads of NaN. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>

#include "fovea_half_kernels.hpp"
#include "tests/support/comparison.h"
#include "tests/support/explanation.h"

namespace fovea::test {
namespace {

// Of an LSE, which went through powers of two.
constexpr double few_roundings = 8 * 0x1p-24;

bool is_half(const TestKernel& kernel) { return kernel.dtype() != FOVEA_F32; }

// Kernels in which one key alone gives its value back.
std::vector<TestKernel> half_kernels_of(std::initializer_list<const char*> variants,
                                        int d_qk = 64) {
  return kernels_where([&](const TestKernel& k) {
    for (const char* variant : variants) {
      if (is_half(k) && k.info().d_qk == d_qk && k.variant_name() == variant) return true;
    }
    return false;
  });
}

class HalfKernel : public KernelTest {
 protected:
  bool is_f16() const { return GetParam().dtype() == FOVEA_F16; }
  float widened(uint16_t bits) const { return is_f16() ? widened_f16(bits) : widened_bf16(bits); }
  uint16_t infinity() const { return is_f16() ? 0x7c00 : 0x7f80; }
  uint16_t first_normal() const { return is_f16() ? 0x0400 : 0x0080; }
};

class HalfPlain : public HalfKernel {};
FOVEA_FOR_KERNELS(HalfPlain, kernels_where([](const TestKernel& k) {
                    const std::string variant = k.variant_name();
                    return is_half(k) && (variant == "full" || variant == "causal");
                  }));

// All numbers there are, each the value of the only key of its head.
TEST_P(HalfPlain, EveryNumberComesThrough) {
  const int64_t d_v = GetParam().info().d_v, heads = (65536 + d_v - 1) / d_v;
  CallSetup setup = plain_setup(1, 1, heads, heads);
  Problem problem(GetParam(), setup);
  const auto bits_of = [d_v](int64_t h, int64_t d) { return static_cast<uint16_t>(h * d_v + d); };
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t d = 0; d < d_v; ++d) {
      const uint16_t bits = bits_of(h, d);
      std::memcpy(problem.v.at(0, h, 0, d).address(), &bits, sizeof bits);
    }
  }
  const Results got = problem.checked_run();
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t d = 0; d < d_v; ++d) {
      const uint16_t bits = bits_of(h, d), size = bits & 0x7fff;
      if (size > infinity()) {
        ASSERT_TRUE(std::isnan(got.at(0, h, 0, d))) << bits;
      } else if (!GetParam().multiplies_bf16() || size >= first_normal() ||
                 got.at(0, h, 0, d) != 0) {
        ASSERT_EQ(got.at(0, h, 0, d), widened(bits)) << bits;
      }
    }
  }
  count_case(heads);
}

// The mean of two neighbours lies half way between them, that of four of them at a quarter.
TEST_P(HalfPlain, MeansAreRoundedToTheNearestTiesToEven) {
  const int64_t d_v = GetParam().info().d_v;
  const uint16_t least = GetParam().multiplies_bf16() ? first_normal() : 0;
  for (const int64_t keys : {2, 4}) {
    for (int64_t above = 1; above < keys; ++above) {
      count_case();
      Random random("ties", static_cast<uint64_t>(10 * keys + above));
      const int64_t heads = 8192 / d_v;
      Problem problem(GetParam(), plain_setup(1, keys, heads, heads));
      std::vector<float> expected;
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t d = 0; d < d_v; ++d) {
          // Sums of four of the largest numbers are beyond f32 in bf16.
          const auto below = static_cast<uint16_t>(
              random.integer(least, is_f16() ? infinity() - 2 : infinity() - 0x200));
          const float sign = random.chance(0.5) ? 1.0f : -1.0f;
          const auto next = static_cast<uint16_t>(below + 1);
          for (int64_t k = 0; k < keys; ++k) {
            problem.v.at(0, h, k, d) = sign * widened(k < above ? next : below);
          }
          const bool takes_next = 2 * above == keys ? below % 2 != 0 : 2 * above > keys;
          expected.push_back(sign * widened(takes_next ? next : below));
        }
      }
      const Results got = problem.checked_run();
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(got.out[i], expected[i]) << i << ", " << above << " of " << keys;
      }
    }
  }
}

// Products of subnormal numbers are exact in f32: the score is what the scale makes of them.
class SubnormalScores : public HalfKernel {};
FOVEA_FOR_KERNELS(SubnormalScores, kernels_where([](const TestKernel& k) {
                    return k.dtype() == FOVEA_F16 && k.variant_name() == "full";
                  }));

TEST_P(SubnormalScores, AreExact) {
  for (const int64_t units : {1, 3, 1023, 1024, 1025}) {
    count_case();
    CallSetup setup = plain_setup(1, 1);
    setup.scale = 0x1p24f;
    Problem problem(GetParam(), setup);
    problem.q.at(0, 0, 0) = 1;
    problem.k.at(0, 0, 0) = static_cast<float>(units) * 0x1p-24f;
    const auto score = static_cast<double>(units);
    EXPECT_NEAR(problem.checked_run().lse[0], score, few_roundings * score);
    // And the other way round.
    problem.k.at(0, 0, 0) = -1;
    problem.q.at(0, 0, 0) = static_cast<float>(units) * 0x1p-24f;
    EXPECT_NEAR(problem.checked_run().lse[0], -score, few_roundings * score);
  }
}

// Scores are f32 whatever the inputs are: neither the products nor their sums end at 65504, and
// what tells two of them apart is far below a unit of the inputs' type.
TEST_P(HalfPlain, ScoresBeyondTheRangeOfF16) {
  const int64_t d_qk = GetParam().info().d_qk;
  for (const int64_t apart : {0, 1}) {
    count_case();
    CallSetup setup = plain_setup(1, 2);
    setup.scale = 0.5f;
    Problem problem(GetParam(), setup);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t d) { return d == 0 ? 1024 : 256.0; });
    problem.fill_k([&](int64_t, int64_t, int64_t row, int64_t d) {
      return d == 0               ? 1024.0
             : d == 1 && row == 1 ? 256.0 + 2.0 * static_cast<double>(apart)
                                  : 256.0;
    });
    problem.fill_v([](int64_t, int64_t, int64_t row, int64_t) { return row == 0 ? 1.0 : 3.0; });
    const double score =
        0.5 * (1048576 + 65536 * static_cast<double>(d_qk - 1));  // of the first key
    const bool differ = apart != 0 && d_qk > 1;
    const Results got = problem.checked_run();
    EXPECT_EQ(got.at(0, 0, 0), differ ? 3.0f : 2.0f);
    // All summands have one sign and nearly one size, so their roundings add up.
    const double roundings = few_roundings + static_cast<double>(d_qk) * 0x1p-24;
    EXPECT_NEAR(got.lse[0], differ ? score + 256 : score + std::log(2.0), roundings * score);
  }
}

// Weights that are no numbers of the type: their rounding averages out or shows once, and the
// output is never off by more than what the weights and the output lose.
TEST_P(HalfPlain, ManySmallWeightsAreNotLost) {
  // One key of weight 1, and 255 whose weights add up to a half: each is far below a unit of 1.
  constexpr int64_t keys = 256;
  count_case();
  CallSetup setup = plain_setup(1, keys);
  setup.scale = 1.0f;
  Problem problem(GetParam(), setup);
  problem.q.at(0, 0, 0) = 1;
  constexpr float score = -0x1.8ep2f;  // -6.21875
  for (int64_t k = 1; k < keys; ++k) problem.k.at(0, 0, k) = score;
  problem.fill_v([](int64_t, int64_t, int64_t row, int64_t) { return row == 0 ? 0.0 : 1.0; });
  const double small = 255 * std::exp(static_cast<double>(score));
  const Results got = problem.checked_run();
  const double expected = small / (1 + small);
  EXPECT_NEAR(got.at(0, 0, 0), expected, GetParam().rounding(expected));
  EXPECT_NEAR(got.lse[0], std::log1p(small), 100 * few_roundings);
}

// What an f16 cannot hold is infinite, with its sign; half a unit beyond the largest it still is
// it.
class HalfSums : public HalfKernel {};
FOVEA_FOR_KERNELS(HalfSums, half_kernels_of({"linear"}));

TEST_P(HalfSums, BeyondTheLargestNumberAreInfinite) {
  // Weights of 1 each: without a division the output is the sum of the values.
  const auto sum_of = [&](double a, double b) {
    count_case();
    CallSetup setup = plain_setup(1, 2);
    setup.wants_lse = false;
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup);
    problem.q.at(0, 0, 0) = problem.k.at(0, 0, 0) = problem.k.at(0, 0, 1) = 1;
    problem.fill_v([=](int64_t, int64_t, int64_t row, int64_t) { return row == 0 ? a : b; });
    return problem.checked_run().at(0, 0, 0);
  };
  if (is_f16()) {
    EXPECT_EQ(sum_of(65504, 15), 65504.0f);
    EXPECT_EQ(sum_of(65504, 16), INFINITY);
    EXPECT_EQ(sum_of(-65504, -16), -INFINITY);
    EXPECT_EQ(sum_of(40000, 40000), INFINITY);
    EXPECT_EQ(sum_of(0x1p-24, 0x1p-24), 0x1p-23f);
    EXPECT_EQ(sum_of(0x1p-24, -0x1p-24), 0.0f);
  } else {
    EXPECT_EQ(sum_of(0x1.fep127, 0x1.fep118), 0x1.fep127f);
    EXPECT_EQ(sum_of(0x1.fep127, 0x1p119), INFINITY);
    EXPECT_EQ(sum_of(-0x1.fep127, -0x1p119), -INFINITY);
    EXPECT_EQ(sum_of(0x1p127, 0x1p127), INFINITY);
    EXPECT_EQ(sum_of(0x1p-100, 0x1p-100), 0x1p-99f);
  }
}

// Output transforms are f32 and rounded once.
class HalfGate : public HalfKernel {};
FOVEA_FOR_KERNELS(HalfGate, half_kernels_of({"gated_output"}));

TEST_P(HalfGate, TheGateIsAppliedBeforeTheRounding) {
  count_case();
  const int64_t d_v = GetParam().info().d_v;
  Problem problem(GetParam(), plain_setup(1, 3));
  // The mean of 1, 0 and 0 is no number of either type; three quarters of it is a quarter.
  problem.fill_v([](int64_t, int64_t, int64_t row, int64_t) { return row == 0 ? 1.0 : 0.0; });
  const double gate = std::log(3.0);
  problem.params.set_table("gate", {1, 1, 1, d_v},
                           std::vector<double>(static_cast<size_t>(d_v), gate));
  const Results got = problem.checked_run();
  for (int64_t d = 0; d < d_v; ++d) ASSERT_EQ(got.at(0, 0, 0, d), 0.25f);
}

// The signs and places of NaN and infinity are those of the inputs, also where the result is
// narrowed: no payload becomes an infinity or a zero.
TEST_P(HalfPlain, NanOfEveryKindStaysNan) {
  const int64_t d_v = GetParam().info().d_v;
  Random random("payloads", 0);
  for (int i = 0; i < 20; ++i) {
    count_case();
    Problem problem(GetParam(), plain_setup(3, 70), random);
    const auto payload = static_cast<uint16_t>(random.integer(infinity() + 1, 0x7fff) |
                                               (random.chance(0.5) ? 0x8000 : 0));
    const int64_t feature = random.integer(0, d_v - 1);
    std::memcpy(problem.v.at(0, 0, 0, feature).address(), &payload, sizeof payload);
    const Results got = problem.checked_run();
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t d = 0; d < d_v; ++d) {
        ASSERT_EQ(std::isnan(got.at(0, 0, row, d)), d == feature) << payload;
      }
    }
  }
}

// The generated header takes 16 bits of storage by the type that they are.
TEST(HalfHeader, RunsCallsOfEitherType) {
  constexpr std::int64_t rows = 3, features = 64;
  const auto run = [&](auto one, auto two) {
    using Number = decltype(one);
    std::vector<Number> q(rows * features), k(rows * features, one), v(rows * features, one),
        out(rows * features);
    std::fill_n(v.begin() + features, features, two);
    const Shape shape = {1, 1, rows, features};
    const Call call(tensor(q.data(), shape), tensor(k.data(), shape), tensor(v.data(), shape),
                    tensor(out.data(), shape));
    const Status status = fovea_half_kernels::causal::run(call);
    EXPECT_TRUE(status.ok()) << status.message();
    return out[features].bits;
  };
  EXPECT_EQ(run(f16{0x3c00}, f16{0x4000}), 0x3e00);  // the mean of 1 and 2
  EXPECT_EQ(run(bf16{0x3f80}, bf16{0x4000}), 0x3fc0);
}

// A type that a library lacks, and types that do not match.
TEST(HalfRefusals, NameTheTypes) {
  const std::vector<TestKernel> halves = half_kernels_of({"full"});
  ASSERT_FALSE(halves.empty());
  Problem problem(halves[0], plain_setup(2, 3));
  const fovea_library_info* library = halves[0].library;
  const int32_t variant = halves[0].info().variant;
  const auto refusal = [&](fovea_status status) {
    problem.call.exec = nullptr;
    EXPECT_EQ(fovea_variant_run(library, variant, &problem.call, nullptr), status);
    return std::string(fovea_last_message());
  };
  for (fovea_tensor* t : {&problem.call.q, &problem.call.k, &problem.call.v, &problem.call.out}) {
    t->dtype = FOVEA_F32;
  }
  EXPECT_NE(refusal(FOVEA_UNSUPPORTED).find("q.dtype = f32: not built for variant full"),
            std::string::npos)
      << fovea_last_message();
  EXPECT_NE(std::string(fovea_last_message()).find("built: f16, bf16"), std::string::npos)
      << fovea_last_message();
  std::string text(1 << 14, '\0');
  EXPECT_EQ(fovea_variant_explain(library, variant, &problem.call, text.data(), text.size()),
            FOVEA_UNSUPPORTED);
  text.resize(text.find('\0'));
  for (int32_t i = 0; i < library->kernel_count; ++i) {
    const fovea_kernel_info& kernel = library->kernels[i];
    if (kernel.variant != variant) continue;
    EXPECT_EQ(answer_about(text, kernel.name).rfind("refused, computes dtype ", 0), 0U) << text;
  }
  problem.call.q.dtype = FOVEA_F16;
  problem.call.k.dtype = FOVEA_BF16;
  EXPECT_NE(refusal(FOVEA_INVALID_ARGUMENT).find("k.dtype = 2 (bf16): allowed: that of q, f16"),
            std::string::npos)
      << fovea_last_message();
}

}  // namespace
}  // namespace fovea::test
