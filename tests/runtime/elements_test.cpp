// Conversions of elements, against those that kernels are tested with.
// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include <fovea/dsl/half_precision.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/support/random.h"

namespace fovea::test {
namespace {

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

void expect_same_rounding(float x) {
  detail::F16 half;
  detail::Bf16 brain;
  detail::round_to(x, &half);
  detail::round_to(x, &brain);
  ASSERT_EQ(half.bits, rounded_to_f16(x)) << bits_of(x);
  ASSERT_EQ(brain.bits, rounded_to_bf16(x)) << bits_of(x);
}

TEST(Elements, EveryStoredNumberIsWidenedExactly) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    ASSERT_EQ(bits_of(detail::widened(detail::F16{bits})), bits_of(widened_f16(bits))) << i;
    ASSERT_EQ(bits_of(detail::widened(detail::Bf16{bits})), bits_of(widened_bf16(bits))) << i;
  }
}

// Where rounding changes: every number of 16 bits, every middle between two of them, and the f32
// numbers next to those.
TEST(Elements, RoundingAtEveryEdge) {
  for (uint32_t i = 0; i < 65535; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float half = widened_f16(bits);
    const float next = widened_f16(static_cast<uint16_t>(i + 1));
    for (const float x : {half, (half + next) / 2}) {
      const auto number = static_cast<int64_t>(bits_of(x));
      for (int64_t step = -1; step <= 1; ++step)
        expect_same_rounding(std::bit_cast<float>(static_cast<uint32_t>(number + step)));
    }
    const uint32_t brain = i << 16;
    for (const uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      expect_same_rounding(std::bit_cast<float>(brain | low));
  }
}

TEST(Elements, RoundingOfAnyNumber) {
  Random random("RoundingOfAnyNumber", 0);
  for (int i = 0; i < 1000000; ++i)
    expect_same_rounding(std::bit_cast<float>(static_cast<uint32_t>(random.bits())));
}

}  // namespace
}  // namespace fovea::test
