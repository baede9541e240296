// precision_test.cpp: sums and exponentials lose no more than f32 must.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(Precision80, kernels_of("full", 80, 80));
FOVEA_BANK(PrecisionWide, kernels_of("full", 256, 256));
FOVEA_BANK(PrecisionSegments, kernels_for({"bank_segments"}));
FOVEA_BANK(PrecisionExp, kernels_of("full", 8, 8));
FOVEA_BANK(PrecisionCausal, kernels_of("causal", 8, 8));
FOVEA_BANK(PrecisionPairs, kernels_where([](const TestKernel& k) {
             return k.multiplies_bf16() && k.variant_name() == "full";
           }));

// https://github.com/ggml-org/llama.cpp/pull/6374
TEST_P(Precision80, Row119LargeActivations) {
  CallSetup setup = setup_of(17, 100);
  setup.spread = 200;
  Random random("row 119", 0);
  Problem problem(GetParam(), setup, random);
  expect_accurate(problem);
  Problem equal(GetParam(), setup);
  equal.fill_q(constant(200));
  equal.fill_k(constant(200));
  equal.fill_v(key_number);
  expect_rows(equal, equal.checked_run(), std::vector<double>(17, 50.5));
}

// https://github.com/osaurus-ai/vmlx-swift/pull/60
TEST_P(PrecisionWide, Row121OneKeyAmongManySmallWeights) {
  constexpr int64_t keys = 32768;
  CallSetup setup = setup_of(1, keys);
  setup.scale = 1.0f;
  Problem problem(GetParam(), setup);
  problem.fill_q(first_feature(1));
  problem.k.at(0, 0, 20000) = 8;
  for (int64_t d = 0; d < 256; ++d) problem.v.at(0, 0, 20000, d) = 1;
  const Results got = problem.checked_run();
  const double weight = std::exp(8.0) / (std::exp(8.0) + keys - 1);  // 0.08339
  for (int64_t d = 0; d < 256; ++d)
    ASSERT_NEAR(got.at(0, 0, 0, d), weight, 1e-7 + GetParam().rounding(weight)) << d;
}

// https://github.com/halide/Halide/issues/8837: dot products of pairs of bf16 that one compiler was
// suspected of; the compiler is that of scripts/requirements.txt
TEST_P(PrecisionPairs, Row208NativeProductsEqualWidenedOnes) {
  const fovea_kernel_info& info = GetParam().info();
  const std::vector<TestKernel> widening = kernels_where([&](const TestKernel& k) {
    return k.variant_name() == "full" && k.dtype() == FOVEA_BF16 && k.info().d_qk == info.d_qk &&
           k.info().d_v == info.d_v && k.info().pass == info.pass &&
           std::string(k.target().name) == "x86-avx512";
  });
  ASSERT_EQ(widening.size(), 1U);
  for (const int64_t keys : {1, 2, 63, 64, 257}) {
    for (const float spread : {0.0f, 1.0f, 30.0f}) {
      CallSetup setup = setup_of(33, keys);
      setup.spread = spread;
      Random random("row 208", keys), same("row 208", keys);
      Problem native(GetParam(), setup, random), widened(widening[0], setup, same);
      const Results got = native.checked_run(), expected = widened.checked_run();
      for (size_t i = 0; i < expected.out.size(); ++i) {
        const double size = std::max(std::abs(got.out[i]), std::abs(expected.out[i]));
        // Both round, and the scores of a wide spread carry more of the last place.
        ASSERT_NEAR(got.out[i], expected.out[i], (1 + spread) * GetParam().rounding(1 + size))
            << native.text();
      }
    }
  }
}

// https://github.com/pytorch/pytorch/issues/108503
TEST_P(PrecisionSegments, Row122SegmentsEqualSeparateCalls) {
  const int64_t lengths[] = {128, 128, 128, 57};
  constexpr int64_t total = 441;
  Random random("row 122", 0);
  Problem masked(GetParam(), setup_of(total, total), random);
  std::vector<double> segment;
  for (const int64_t length : lengths) {
    const double number = segment.empty() ? 0 : segment.back() + 1;
    segment.insert(segment.end(), static_cast<size_t>(length), number);
  }
  masked.params.set_table("of_query", {total}, segment);
  masked.params.set_table("of_key", {total}, segment);
  expect_accurate(masked);
  const Results together = masked.results();
  int64_t first = 0;
  for (const int64_t length : lengths) {
    Problem alone(GetParam(), setup_of(length, length));
    const std::vector<double> one(static_cast<size_t>(length), 0);
    alone.params.set_table("of_query", {length}, one);
    alone.params.set_table("of_key", {length}, one);
    const auto part = [first](const StridedTensor& t) {
      return [&t, first](int64_t b, int64_t h, int64_t row, int64_t d) {
        return static_cast<double>(t.at(b, h, first + row, d));
      };
    };
    alone.fill_q(part(masked.q));
    alone.fill_k(part(masked.k));
    alone.fill_v(part(masked.v));
    expect_accurate(alone);
    Results rows = alone.results();
    for (int64_t i = 0; i < length; ++i) {
      std::copy_n(&together.out[together.row(0, 0, first + i) * 64], 64,
                  &rows.out[rows.row(0, 0, i) * 64]);
      rows.lse[rows.row(0, 0, i)] = together.lse[together.row(0, 0, first + i)];
    }
    EXPECT_EQ(compare(rows, expected_results(alone)), "") << "the masked call, from row " << first;
    first += length;
  }
}

// https://github.com/halide/Halide/issues/4559: two keys with scores 0 and -x have weights of which
// one is e^-x / (1 + e^-x)
TEST_P(PrecisionExp, Row124TheExponentialAtManyPoints) {
  constexpr int64_t points = 100000;
  constexpr double u = 0x1p-24;
  CallSetup setup = setup_of(points, 2);
  setup.scale = 1.0f;
  setup.wants_lse = false;
  Problem problem(GetParam(), setup);
  for (int64_t i = 0; i < points; ++i) {
    problem.q.at(0, 0, i) = -static_cast<float>(static_cast<double>(i) * 100.0 / points);
  }
  problem.fill_k(rows_in_first_feature({0, 1}));
  problem.fill_v(rows({0, 1}));
  const Results got = problem.checked_run();
  double worst = 0;
  for (int64_t i = 0; i < points; ++i) {
    const double score = static_cast<double>(problem.q.at(0, 0, i));
    const double exact = std::exp(score) / (1 + std::exp(score));
    const double value = static_cast<double>(got.at(0, 0, i));
    if (score < -87) {  // denormal weights may become zero
      ASSERT_LE(std::abs(value - exact), 1.2e-38 + GetParam().rounding(exact)) << score;
      continue;
    }
    const double allowed = (16 - 4 * score) * u * exact + GetParam().rounding(exact);
    worst = std::max(worst, std::abs(value - exact) / allowed);
  }
  EXPECT_LE(worst, 1.0);
}

// https://github.com/flashinfer-ai/flashinfer/issues/1395
TEST_P(PrecisionCausal, Row127AShortAndALongSequence) {
  const int64_t lengths[] = {235, 13355};
  CallSetup setup = setup_of(13355, 13355);
  setup.batch = 2;
  setup.threads = 2;
  setup.q_len = setup.kv_len = {235, 13355};
  Random random("row 127", 0);
  Problem batch(GetParam(), setup, random);
  const Results together = batch.checked_run();
  EXPECT_EQ(compare(together, expected_results(batch, 1511)), "");
  for (int64_t b = 0; b < 2; ++b) {
    Problem alone(GetParam(), setup_of(lengths[b], lengths[b]));
    const auto sequence = [b](const StridedTensor& t) {
      return [&t, b](int64_t, int64_t h, int64_t row, int64_t d) {
        return static_cast<double>(t.at(b, h, row, d));
      };
    };
    alone.fill_q(sequence(batch.q));
    alone.fill_k(sequence(batch.k));
    alone.fill_v(sequence(batch.v));
    const Results single = alone.checked_run();
    for (int64_t i = 0; i < lengths[b]; ++i)
      for (int64_t d = 0; d < 8; ++d)
        ASSERT_EQ(single.at(0, 0, i, d), together.at(b, 0, i, d)) << i;
  }
}

}  // namespace
}  // namespace fovea::test::bank
