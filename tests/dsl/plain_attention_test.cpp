// plain_attention_test.cpp: where the yardstick of the accuracy rule rounds, and where the
// reference does not. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/half_precision.h>

#include <cmath>

#include "small_problem.h"

namespace fovea {
namespace {

// The numbers of a call in f16 or bf16.
struct HalfProblem {
  HalfProblem(const Problem& numbers, fovea_dtype dtype) : call(numbers.call) {
    convert(numbers.q, dtype, q, call.q);
    convert(numbers.k, dtype, k, call.k);
    convert(numbers.v, dtype, v, call.v);
  }
  HalfProblem(const HalfProblem&) = delete;
  HalfProblem& operator=(const HalfProblem&) = delete;

  static void convert(const std::vector<float>& from, fovea_dtype dtype, std::vector<uint16_t>& to,
                      fovea_tensor& tensor) {
    for (const float x : from) {
      to.push_back(0);
      store_element(&to.back(), dtype, x);
    }
    tensor.data = to.data();
    tensor.dtype = dtype;
  }

  std::vector<uint16_t> q, k, v;
  fovea_call call;
};

constexpr fovea_dtype halves[] = {FOVEA_F16, FOVEA_BF16};

float third(fovea_dtype dtype) { return rounded_to(dtype, 1.0f / 3); }

TEST(PlainAttention, OutputsAreRoundedToTheNearestTiesToEven) {
  for (const fovea_dtype dtype : halves) {
    const double step = 2 * unit_roundoff(dtype);  // between 1 and its neighbour
    for (const int64_t first : {0, 1}) {
      Problem numbers({.skv = 2});
      numbers.v = {static_cast<float>(1 + static_cast<double>(first) * step),
                   static_cast<float>(1 + static_cast<double>(first + 1) * step)};
      const HalfProblem problem(numbers, dtype);
      const double mean = 1 + (static_cast<double>(first) + 0.5) * step;
      EXPECT_EQ(reference_attention(plain(), problem.call, {}).out[0], mean);
      EXPECT_EQ(plain_attention(plain(), problem.call, {}).out[0], first == 0 ? 1 : 1 + 2 * step);
    }
  }
}

TEST(PlainAttention, WeightsAreRoundedWhereTheyMeetTheValues) {
  for (const fovea_dtype dtype : halves) {
    Problem numbers({.skv = 2});
    numbers.q = {1};
    numbers.k = {0, -1};
    numbers.v = {0, 1};
    const HalfProblem problem(numbers, dtype);
    const float weight = std::exp(-1.0f);
    ASSERT_NE(rounded_to(dtype, weight), weight);
    const ReferenceResult result = plain_attention(plain(), problem.call, {});
    EXPECT_EQ(result.out[0], rounded_to(dtype, rounded_to(dtype, weight) / (1 + weight)));
    EXPECT_EQ(result.lse[0], std::log(1 + weight));  // of the weights as they were
    EXPECT_NEAR(reference_attention(plain(), problem.call, {}).out[0],
                std::exp(-1.0) / (1 + std::exp(-1.0)), 1e-15);
  }
}

TEST(PlainAttention, TransformedRowsAreKeptInTheTypeOfTheInputs) {
  const auto by_a_third = [](const Row& row, Expr d, const Position&) { return row(d) / 3.0f; };
  for (const fovea_dtype dtype : halves) {
    Problem numbers({});
    numbers.q = numbers.k = numbers.v = {1};
    const HalfProblem problem(numbers, dtype);
    Variant query("query"), key("key"), value("value");
    query.query(by_a_third);
    key.key(by_a_third);
    value.value(by_a_third);
    ASSERT_NE(third(dtype), 1.0f / 3);
    EXPECT_EQ(plain_attention(query, problem.call, {}).lse[0], third(dtype));
    EXPECT_EQ(plain_attention(key, problem.call, {}).lse[0], third(dtype));
    EXPECT_EQ(plain_attention(value, problem.call, {}).out[0], third(dtype));
    EXPECT_NEAR(reference_attention(key, problem.call, {}).lse[0], 1.0 / 3, 1e-15);
    EXPECT_NEAR(reference_attention(value, problem.call, {}).out[0], 1.0 / 3, 1e-15);
  }
}

TEST(PlainAttention, OutputStepsAreRoundedOnce) {
  Variant v("output");
  v.output([](const Row& row, Expr d, const Position&) { return row(d) * 3.0f; });
  for (const fovea_dtype dtype : halves) {
    Problem numbers({.skv = 3});
    numbers.v = {1, 0, 0};
    const HalfProblem problem(numbers, dtype);
    EXPECT_EQ(plain_attention(v, problem.call, {}).out[0], 1);  // 3 times a rounded third is not 1
  }
}

TEST(PlainAttention, ScoresAreF32) {
  Problem numbers({.skv = 2});
  numbers.q = {300};
  numbers.k = {300, 301};  // products beyond the range of f16, one apart after the scale
  numbers.v = {0, 1};
  HalfProblem problem(numbers, FOVEA_F16);
  const float scale = 1.0f / 300;
  problem.call.scale = &scale;
  const ReferenceResult result = plain_attention(plain(), problem.call, {});
  EXPECT_NEAR(result.out[0], 1 / (1 + std::exp(-1.0)), 0x1p-11);
  EXPECT_NEAR(result.lse[0], 301 + std::log1p(std::exp(-1.0)), 1e-4);
}

TEST(PlainAttention, OutputsBeyondTheTypeAreInfinite) {
  Variant v("output");
  v.output([](const Row& row, Expr d, const Position&) { return row(d) * 2.0f; });
  Problem numbers({});
  numbers.v = {40000};
  const HalfProblem problem(numbers, FOVEA_F16);
  EXPECT_EQ(plain_attention(v, problem.call, {}).out[0], static_cast<double>(inf));
  EXPECT_EQ(reference_attention(v, problem.call, {}).out[0], 80000);
}

TEST(PlainAttention, EqualWeightsOfManyKeysAreNotRounded) {
  for (const fovea_dtype dtype : halves) {
    Problem numbers({.skv = 1000});
    for (size_t i = 0; i < 1000; ++i) numbers.v[i] = i % 2 == 0 ? 1.0f : 0.5f;
    const HalfProblem problem(numbers, dtype);
    EXPECT_EQ(plain_attention(plain(), problem.call, {}).out[0], 0.75);
  }
}

}  // namespace
}  // namespace fovea
