// index_overflow_test.cpp: offsets and counts beyond 16 and 32 bits.
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "tests/kernels/bank/bank.h"
#include "tests/kernels/bank/reserved.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(OverflowFull, kernels_of("full", 8, 8));
FOVEA_BANK(OverflowLong, kernels_where([](const TestKernel& k) {
             const std::string variant = k.variant_name();
             return (variant == "causal" && k.info().d_qk == 8) || variant == "test_key_bias";
           }));
FOVEA_BANK(OverflowChunked, kernels_for({"test_chunked"}));

constexpr int64_t features = 8;

// https://github.com/Dao-AILab/flash-attention/pull/1500: sequences more than 2^31 elements apart
TEST_P(OverflowFull, Row103SequencesFarApart) {
  constexpr int64_t stride = (int64_t{1} << 30) + 64;
  const Reserved memory(GetParam(), 2 * stride + 4096);
  SKIP_WITHOUT(memory);
  CallSetup setup = setup_of(3, 5);
  setup.batch = 3;
  Random random("row 103", 0);
  Problem problem(GetParam(), setup, random);
  const Results expected = problem.checked_run();
  const auto move = [&](const StridedTensor& from, fovea_tensor& t, int64_t first) {
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t i = 0; i < t.extent[2]; ++i)
        for (int64_t d = 0; d < features; ++d)
          memory.at(first + b * stride + i * features + d) = from.at(b, 0, i, d);
    t.data = memory.at(first).address();
    t.stride[0] = stride;
  };
  move(problem.q, problem.call.q, 0);
  move(problem.k, problem.call.k, 512);
  move(problem.v, problem.call.v, 1024);
  EXPECT_EQ(bit_difference(problem.checked_run(), expected), "");
  problem.call.out.data = memory.at(2048).address();
  problem.call.out.stride[0] = stride;
  ASSERT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();
  for (int64_t b = 0; b < 3; ++b)
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t d = 0; d < features; ++d)
        ASSERT_EQ(static_cast<float>(memory.at(2048 + b * stride + i * features + d)),
                  expected.at(b, 0, i, d));
}

// https://github.com/Dao-AILab/flash-attention/issues/2611: right as far as 32 bits go, refused
// beyond
TEST_P(OverflowFull, Row104RowsFarApart) {
  constexpr int64_t stride = INT32_MAX;
  const Reserved memory(GetParam(), stride + 64);
  SKIP_WITHOUT(memory);
  Problem problem(GetParam(), setup_of(1, 2));
  problem.fill_v(key_number);
  for (int64_t d = 0; d < features; ++d) {
    memory.at(d) = 1;
    memory.at(stride + d) = 2;
  }
  problem.call.v.data = memory.at(0).address();
  problem.call.v.stride[2] = stride;
  expect_rows(problem, problem.checked_run(), {1.5});
  problem.call.v.stride[2] = stride + 1;
  expect_refused(problem, FOVEA_UNSUPPORTED, "v.stride[2]");
}

// https://github.com/pytorch/pytorch/issues/190857
TEST_P(OverflowFull, Row106TheLastTokenIsMoreThan32BitsAway) {
  constexpr int64_t keys = 24000, stride = 90000;
  static_assert(keys * stride > INT32_MAX);
  const Reserved memory(GetParam(), keys * stride);
  SKIP_WITHOUT(memory);
  CallSetup setup = setup_of(1, keys);
  setup.scale = 1.0f;
  setup.k.shared[2] = setup.v.shared[2] = true;  // replaced below
  Problem problem(GetParam(), setup);
  problem.fill_q(first_feature(1));
  memory.at((keys - 1) * stride) = 8;       // its score
  memory.at((keys - 1) * stride + 64) = 1;  // its value
  problem.call.k.data = memory.at(0).address();
  problem.call.v.data = memory.at(64).address();
  problem.call.k.stride[2] = problem.call.v.stride[2] = stride;
  const double weight = std::exp(8.0) / (std::exp(8.0) + keys - 1);
  EXPECT_NEAR(problem.checked_run().at(0, 0, 0), weight, 1e-7 + GetParam().rounding(weight));
}

// https://github.com/pytorch/pytorch/issues/162588
TEST_P(OverflowLong, Row107MoreKeysThan16Bits) {
  for (const int64_t keys : {65535, 65536, 65537}) {
    Random random("row 107", static_cast<uint64_t>(keys));
    Problem problem(GetParam(), setup_of(1, keys), random);
    if (GetParam().variant_name() == "test_key_bias") {
      const auto n = static_cast<size_t>(keys);
      std::vector<double> bias(n), visible(n);
      for (size_t k = 0; k < n; ++k) {
        bias[k] = random.real(-1, 1);
        visible[k] = random.chance(0.7) ? 1 : 0;
      }
      problem.params.set_table("bias", {keys}, bias);
      problem.params.set_table("visible", {keys}, visible);
    }
    expect_accurate(problem);
  }
}

// https://github.com/tile-ai/tilelang/issues/330: nothing counts scores in 32 bits
TEST_P(OverflowChunked, Row110MoreScoresThan32Bits) {
  constexpr int64_t length = 65537;
  CallSetup setup = setup_of(length, length);
  setup.q.shared[2] = setup.k.shared[2] = true;
  Random random("row 110", 0);
  Problem problem(GetParam(), setup, random);
  problem.params.set("length", 100);
  expect_accurate(problem, nullptr, 9973);
}

}  // namespace
}  // namespace fovea::test::bank
