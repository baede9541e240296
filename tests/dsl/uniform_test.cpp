// uniform_test.cpp: the random numbers of a position: the same in expressions and in C++, uniform,
// and unrelated from one position to the next. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/uniform.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace fovea {
namespace {

TEST(Uniform, ExpressionsAndNumbersAgree) {
  const Expr seed = Halide::Internal::Variable::make(Halide::Int(32), "seed");
  const Expr random = uniform(seed, symbolic_position());
  Environment<float> environment;
  environment.lanes = 50;
  Lanes<float> keys;
  for (int k = 0; k < 50; ++k) keys.integers.push_back(k * 1001);
  environment.variables["k"] = keys;
  for (const int32_t s : {0, 1, -1, 1 << 30}) {
    for (const int32_t q : {-5, 0, 7, 100000}) {
      environment.variables["seed"] = Lanes<float>::integer(s);
      environment.variables["q"] = Lanes<float>::integer(q);
      environment.variables["batch"] = Lanes<float>::integer(3);
      environment.variables["head"] = Lanes<float>::integer(11);
      const std::vector<float> drawn = evaluate(random, environment).reals;
      for (int k = 0; k < 50; ++k) {
        EXPECT_EQ(drawn[static_cast<size_t>(k)], uniform(s, 3, 11, q, k * 1001));
      }
    }
  }
}

// A fixed point of the definition: what is stored with a seed today must be drawn again tomorrow.
TEST(Uniform, StaysWhatItIs) {
  EXPECT_EQ(uniform(0, 0, 0, 0, 0), 1276739 * 0x1p-24f);
  EXPECT_EQ(uniform(1, 2, 3, 4, 5), 8599633 * 0x1p-24f);
}

// Chi-square of 64 equal bins, and the correlation with a neighbour, each along one argument. The
// limits are about 6 standard deviations; the numbers are fixed, so this cannot fail by chance.
TEST(Uniform, IsUniformAndUncorrelatedAlongEveryArgument) {
  constexpr int count = 1 << 16, bins = 64;
  const std::function<float(int)> along[] = {
      [](int i) { return uniform(i, 0, 0, 0, 0); },
      [](int i) { return uniform(7, i, 0, 0, 0); },
      [](int i) { return uniform(7, 0, i, 0, 0); },
      [](int i) { return uniform(7, 0, 0, i, 0); },
      [](int i) { return uniform(7, 0, 0, 0, i); },
      [](int i) { return uniform(7, 0, 0, i, i); },  // a diagonal
      [](int i) { return uniform(7, 0, 0, i >> 8, i & 255); }};
  for (const auto& draw : along) {
    std::array<int, bins> histogram{};
    double correlation = 0;
    float before = draw(count);
    for (int i = 0; i < count; ++i) {
      const float u = draw(i);
      ASSERT_GE(u, 0.0f);
      ASSERT_LT(u, 1.0f);
      ++histogram[static_cast<size_t>(u * bins)];
      correlation += 12 * (static_cast<double>(u) - 0.5) * (static_cast<double>(before) - 0.5);
      before = u;
    }
    double chi_square = 0;
    for (const int n : histogram) {
      const double difference = n - count / bins;
      chi_square += difference * difference / (count / bins);
    }
    EXPECT_LT(chi_square, bins - 1 + 6 * std::sqrt(2.0 * (bins - 1)));
    EXPECT_GT(chi_square, bins - 1 - 5 * std::sqrt(2.0 * (bins - 1)));
    EXPECT_LT(std::abs(correlation) / std::sqrt(static_cast<double>(count)), 6);
  }
}

// Neighbouring rows, heads and sequences must not repeat each other's numbers in any order near by.
TEST(Uniform, RowsAreUnrelated) {
  constexpr int count = 4096;
  const auto correlation = [&](const std::function<float(int)>& a,
                               const std::function<float(int)>& b) {
    double sum = 0;
    for (int k = 0; k < count; ++k) {
      sum += 12 * (static_cast<double>(a(k)) - 0.5) * (static_cast<double>(b(k)) - 0.5);
    }
    return std::abs(sum) / std::sqrt(static_cast<double>(count));
  };
  const auto row = [](int batch, int head, int q, int flip) {
    return [=](int k) { return uniform(7, batch, head, q, k ^ flip); };
  };
  for (const int flip : {0, 1, 2, 16}) {
    for (int q = 1; q < 20; ++q) {
      EXPECT_LT(correlation(row(0, 0, 0, 0), row(0, 0, q, flip)), 6);
      EXPECT_LT(correlation(row(0, 0, 0, 0), row(0, q, 0, flip)), 6);
      EXPECT_LT(correlation(row(0, 0, 0, 0), row(q, 0, 0, flip)), 6);
    }
  }
  EXPECT_LT(correlation(row(0, 1, 0, 0), row(1, 0, 0, 0)), 6);
  EXPECT_LT(correlation(row(0, 0, 1, 0), row(0, 1, 0, 0)), 6);
}

}  // namespace
}  // namespace fovea
