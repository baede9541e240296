// relative_bias_test.cpp: T5's buckets against the published formula, ALiBi's slopes against the
// published series. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/evaluate.h>
#include <fovea/dsl/relative_bias.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace fovea {
namespace {

// The formula as published, with the logarithm in f32 as the released code has it.
int published_bucket(int distance, bool bidirectional, int buckets, int max_distance) {
  int bucket = 0, n = 0;
  if (bidirectional) {
    buckets /= 2;
    if (distance > 0) bucket += buckets;
    n = std::abs(distance);
  } else {
    n = -std::min(distance, 0);
  }
  const int exact = buckets / 2;
  if (n < exact) return bucket + n;
  const float ratio = std::log(static_cast<float>(n) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / exact));
  const int large = exact + static_cast<int>(ratio * static_cast<float>(buckets - exact));
  return bucket + std::min(large, buckets - 1);
}

std::vector<int64_t> buckets_of(const T5Buckets& buckets, int reach) {
  Environment<double> environment;
  Lanes<double> distances;
  for (int d = -reach; d <= reach; ++d) distances.integers.push_back(d);
  environment.lanes = distances.integers.size();
  environment.variables["distance"] = distances;
  const Expr distance = Halide::Internal::Variable::make(Halide::Int(32), "distance");
  return evaluate(buckets(distance), environment).integers;
}

TEST(T5Buckets, AreThePublishedOnes) {
  constexpr int reach = 1000;
  const T5Buckets kinds[] = {{.bidirectional = true},
                             {.bidirectional = false},
                             {.count = 16, .max_distance = 100, .bidirectional = true},
                             {.count = 64, .max_distance = 512, .bidirectional = false}};
  for (const T5Buckets& kind : kinds) {
    const std::vector<int64_t> buckets = buckets_of(kind, reach);
    for (int d = -reach; d <= reach; ++d) {
      EXPECT_EQ(buckets[static_cast<size_t>(d + reach)],
                published_bucket(d, kind.bidirectional, kind.count, kind.max_distance))
          << "distance " << d << ", " << kind.count << " buckets";
    }
  }
}

// The boundaries of T5 itself, written out.
TEST(T5Buckets, Thresholds) {
  EXPECT_EQ(T5Buckets{}.thresholds(), (std::vector<int>{12, 16, 23, 32, 46, 64, 91}));
  EXPECT_EQ(T5Buckets{.bidirectional = false}.thresholds(),
            (std::vector<int>{19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}));
}

TEST(T5Buckets, ImpossibleOnesAreRefused) {
  EXPECT_THROW((T5Buckets{.count = 2}.thresholds()), DeclarationError);
  EXPECT_THROW((T5Buckets{.count = 33}.thresholds()), DeclarationError);
  EXPECT_THROW((T5Buckets{.max_distance = 8}.thresholds()), DeclarationError);
}

void expect_slopes(const std::vector<float>& slopes, const std::vector<double>& exponents) {
  ASSERT_EQ(slopes.size(), exponents.size());
  for (size_t h = 0; h < slopes.size(); ++h) {
    EXPECT_FLOAT_EQ(slopes[h], static_cast<float>(std::exp2(exponents[h]))) << "head " << h;
  }
}

TEST(AlibiSlopes, AreASeriesForAPowerOfTwo) {
  // Fault #49: the first slope of 8 heads is 1/2, the last 2^-8.
  for (const auto& slopes : {alibi_slopes(8), alibi_slopes_geometric(8)}) {
    EXPECT_EQ(slopes, (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f,
                                          0.0078125f, 0.00390625f}));
  }
  EXPECT_EQ(alibi_slopes(1), std::vector<float>{0.00390625f});
}

TEST(AlibiSlopes, OtherCountsInterleaveTheSeriesOfTwiceAsMany) {
  // Fault #46.
  expect_slopes(alibi_slopes(12), {-1, -2, -3, -4, -5, -6, -7, -8, -0.5, -1.5, -2.5, -3.5});
  expect_slopes(alibi_slopes(3), {-4, -8, -2});
  expect_slopes(alibi_slopes(5), {-2, -4, -6, -8, -1});
  expect_slopes(alibi_slopes(6), {-2, -4, -6, -8, -1, -3});
  // Fault #47: 40 heads are 32 and 8 more; the other rule is one series.
  const std::vector<float> forty = alibi_slopes(40);
  ASSERT_EQ(forty.size(), 40u);
  EXPECT_FLOAT_EQ(forty[31], 0.00390625f);
  EXPECT_FLOAT_EQ(forty[32], static_cast<float>(std::exp2(-0.125)));
  EXPECT_FLOAT_EQ(forty[39], static_cast<float>(std::exp2(-0.125 * 15)));
  expect_slopes(alibi_slopes_geometric(5), {-1.6, -3.2, -4.8, -6.4, -8});
}

}  // namespace
}  // namespace fovea
