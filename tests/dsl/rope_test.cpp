// rope_test.cpp: rotary positions against rotations of complex numbers, and the published
// scalings of their frequencies. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/example.h>
#include <fovea/dsl/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include "small_problem.h"

namespace fovea {
namespace {

// The row after rotation at a position: pairs as complex numbers times e^(i angle).
std::vector<double> turned(const float* row, int64_t size, RopeLayout layout, int64_t first,
                           const RopeFrequencies& rope, int64_t position) {
  std::vector<double> result(row, row + size);
  const auto pairs = static_cast<int64_t>(rope.frequency.size());
  for (int64_t i = 0; i < pairs; ++i) {
    const bool half = layout == RopeLayout::Half;
    const auto x = static_cast<size_t>(first + (half ? i : 2 * i));
    const auto y = static_cast<size_t>(first + (half ? i + pairs : 2 * i + 1));
    const std::complex<double> z =
        std::complex<double>(static_cast<double>(row[x]), static_cast<double>(row[y])) *
        std::polar(rope.magnitude,
                   rope.frequency[static_cast<size_t>(i)] * static_cast<double>(position));
    result[x] = z.real();
    result[y] = z.imag();
  }
  return result;
}

// One row of weights of the variant against the dot products of turned rows.
void expect_rotation(const Variant& v, RopeLayout layout, int64_t first,
                     const RopeFrequencies& rope, int64_t d) {
  constexpr int64_t rows = 3, keys = 7;
  Problem problem({.hq = 2, .hkv = 1, .sq = rows, .skv = keys, .d = d, .dv = keys});
  fill(problem.q, 4);
  fill(problem.k, 5);
  for (size_t k = 0; k < keys; ++k) problem.v[k * keys + k] = 1;  // the output is the weights
  const ExampleParameters example(
      v, {.heads = 2, .q_len = rows, .kv_len = keys, .d_qk = d, .d_v = keys});
  const ReferenceResult result = reference_attention(v, problem.call, example.values());
  for (int64_t h = 0; h < 2; ++h) {
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<double> q = turned(&problem.q[static_cast<size_t>((h * rows + i) * d)], d,
                                           layout, first, rope, keys - rows + i);
      std::vector<double> weights;
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        const std::vector<double> k =
            turned(&problem.k[static_cast<size_t>(j * d)], d, layout, first, rope, j);
        double product = 0;
        for (size_t f = 0; f < q.size(); ++f) product += q[f] * k[f];
        weights.push_back(std::exp(product / std::sqrt(static_cast<double>(d))));
        sum += weights.back();
      }
      for (int64_t j = 0; j < keys; ++j) {
        // The tables are f32.
        EXPECT_NEAR(result.out[static_cast<size_t>((h * rows + i) * keys + j)],
                    weights[static_cast<size_t>(j)] / sum, 1e-6);
      }
    }
  }
}

TEST(Rope, TurnsPairsOfEitherLayout) {
  for (const RopeLayout layout : {RopeLayout::Interleaved, RopeLayout::Half}) {
    for (const int64_t dims : {8, 6}) {  // all of the features, or the first six of them
      RopeFrequencies rope = rope_plain(dims, 100);
      rope.magnitude = 1.25;
      Variant v("sample");
      rotate(v, layout, [=](const ExampleShape&) { return rope; });
      expect_rotation(v, layout, 0, rope, 8);
    }
  }
}

TEST(Rope, TurnsTheLastFeatures) {
  for (const RopeLayout layout : {RopeLayout::Interleaved, RopeLayout::Half}) {
    const RopeFrequencies rope = rope_plain(4, 100);
    Variant v("sample");
    rotate_last(v, layout, [=](const ExampleShape&) { return rope; });
    expect_rotation(v, layout, 6, rope, 10);
  }
}

TEST(Rope, OnlyDistancesMatter) {
  Variant v("sample");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 100); });
  Problem problem({.sq = 4, .skv = 4, .d = 8});
  std::fill(problem.q.begin(), problem.q.end(), 0.5f);
  std::fill(problem.k.begin(), problem.k.end(), 0.5f);
  problem.v = {1, 2, 3, 4};
  const ExampleShape shape = {.q_len = 4, .kv_len = 4, .d_qk = 8, .d_v = 1};
  const ExampleParameters example(v, shape);
  v.keep(masks::window(1, 1));
  const ReferenceResult result = reference_attention(v, problem.call, example.values());
  EXPECT_NEAR(result.out[2] - result.out[1], 1, 1e-6);  // the same weights, one key further
}

TEST(RopeFrequencies, Plain) {
  const RopeFrequencies rope = rope_plain(8, 10000);
  ASSERT_EQ(rope.frequency.size(), 4u);
  EXPECT_DOUBLE_EQ(rope.frequency[0], 1);
  EXPECT_NEAR(rope.frequency[1], 0.1, 1e-15);
  EXPECT_NEAR(rope.frequency[2], 0.01, 1e-16);
  EXPECT_NEAR(rope.frequency[3], 0.001, 1e-17);
  EXPECT_EQ(rope.magnitude, 1);
}

TEST(RopeFrequencies, LinearAndNtk) {
  const RopeFrequencies plain = rope_plain(128, 10000), linear = rope_linear(128, 10000, 4),
                        ntk = rope_ntk(128, 10000, 4);
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_DOUBLE_EQ(linear.frequency[i], plain.frequency[i] / 4);
    EXPECT_LE(ntk.frequency[i], plain.frequency[i]);
  }
  EXPECT_DOUBLE_EQ(ntk.frequency[0], plain.frequency[0]);
  EXPECT_NEAR(ntk.frequency[63] / plain.frequency[63], 0.25, 1e-12);
}

// Llama 2's head size with factor 16 from 4096: the ramp of the paper runs from pair 20 to 46
// (floor of 20.9…, ceil of 45.03…).
TEST(RopeFrequencies, Yarn) {
  const RopeFrequencies plain = rope_plain(128, 10000);
  const RopeFrequencies yarn = rope_yarn(128, 10000, {.factor = 16, .original_length = 4096});
  const double pi = std::acos(-1.0);
  for (size_t i = 0; i < 64; ++i) {
    const double ratio = yarn.frequency[i] / plain.frequency[i];
    const double ramp = (static_cast<double>(i) - 20) / (46 - 20);
    const double expected = ramp <= 0 ? 1 : ramp >= 1 ? 1.0 / 16 : 1 - ramp + ramp / 16;
    EXPECT_NEAR(ratio, expected, 1e-12) << i;
    // What the bounds mean: turns within the trained length.
    const double turns = 4096 * plain.frequency[i] / (2 * pi);
    if (turns > 40) {
      EXPECT_EQ(ratio, 1);
    }
    if (turns < 0.8) {
      EXPECT_NEAR(ratio, 1.0 / 16, 1e-12);
    }
  }
  EXPECT_DOUBLE_EQ(yarn.magnitude, 0.1 * std::log(16.0) + 1);
  EXPECT_EQ(rope_yarn(128, 10000, {.factor = 16, .attention_factor = 1}).magnitude, 1);
  const RopeFrequencies same = rope_yarn(128, 10000, {});
  for (size_t i = 0; i < 64; ++i) EXPECT_DOUBLE_EQ(same.frequency[i], plain.frequency[i]);
  EXPECT_EQ(same.magnitude, 1);
}

TEST(RopeFrequencies, Llama3) {
  const RopeFrequencies plain = rope_plain(128, 500000), scaled = rope_llama3(128, 500000, {});
  const double pi = std::acos(-1.0);
  int between = 0;
  for (size_t i = 0; i < 64; ++i) {
    const double wavelength = 2 * pi / plain.frequency[i];
    const double ratio = scaled.frequency[i] / plain.frequency[i];
    if (wavelength < 8192.0 / 4) {
      EXPECT_EQ(ratio, 1);
    } else if (wavelength > 8192.0) {
      EXPECT_DOUBLE_EQ(ratio, 1.0 / 8);
    } else {
      const double smooth = (8192 / wavelength - 1) / (4 - 1);
      EXPECT_NEAR(ratio, (1 - smooth) / 8 + smooth, 1e-12);
      ++between;
    }
  }
  EXPECT_GT(between, 3);
}

TEST(RopeFrequencies, FillTheTables) {
  RopeFrequencies rope = rope_plain(4, 100);
  rope.magnitude = 2;
  float cosine[6] = {}, sine[6] = {};
  fill_rope(rope, 3, cosine, sine);
  for (int position = 0; position < 3; ++position) {
    for (int i = 0; i < 2; ++i) {
      const double angle = position * (i == 0 ? 1 : 0.1);
      EXPECT_FLOAT_EQ(cosine[position * 2 + i], static_cast<float>(2 * std::cos(angle)));
      EXPECT_FLOAT_EQ(sine[position * 2 + i], static_cast<float>(2 * std::sin(angle)));
    }
  }
}

}  // namespace
}  // namespace fovea
