// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/half_precision.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fovea {
namespace {

// A 16-bit format, and what its bits mean by the definition of the format.
struct Format {
  fovea_dtype dtype;
  int mantissa_bits, bias;
  float (*widened)(uint16_t);
  uint16_t (*rounded)(float);

  uint16_t infinity() const {
    return static_cast<uint16_t>(0x7fff >> mantissa_bits << mantissa_bits);
  }
  bool is_nan(uint16_t bits) const { return (bits & 0x7fff) > infinity(); }
  double value(uint16_t bits) const {
    const double sign = bits >> 15 != 0 ? -1 : 1;
    const int size = bits & 0x7fff, exponent = size >> mantissa_bits;
    const int mantissa = size & ((1 << mantissa_bits) - 1);
    if (size == infinity()) return sign * std::numeric_limits<double>::infinity();
    const int whole = exponent == 0 ? mantissa : mantissa | 1 << mantissa_bits;
    return sign * std::ldexp(whole, std::max(exponent, 1) - bias - mantissa_bits);
  }
};
constexpr Format formats[] = {{FOVEA_F16, 10, 15, widened_f16, rounded_to_f16},
                              {FOVEA_BF16, 7, 127, widened_bf16, rounded_to_bf16}};

TEST(HalfPrecision, EveryNumberIsWidenedExactlyAndComesBack) {
  for (const Format& f : formats) {
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      const float wide = f.widened(bits);
      if (f.is_nan(bits)) {
        ASSERT_TRUE(std::isnan(wide)) << i;
        // Sign and payload stay; what signals becomes quiet.
        ASSERT_EQ(f.rounded(wide), bits | 1 << (f.mantissa_bits - 1)) << i;
        continue;
      }
      ASSERT_EQ(static_cast<double>(wide), f.value(bits)) << i;
      ASSERT_EQ(std::signbit(wide), bits >> 15 != 0) << i;
      ASSERT_EQ(f.rounded(wide), bits) << i;
      ASSERT_EQ(rounded_to(f.dtype, wide), wide) << i;
    }
  }
}

TEST(HalfPrecision, BetweenNeighboursTheNearerOneWinsAndTheEvenOneTies) {
  const float up = std::numeric_limits<float>::infinity();
  for (const Format& f : formats) {
    // The last pair is the largest number and infinity, which stands for the next power of two.
    for (uint16_t below = 0; below < f.infinity(); ++below) {
      const auto above = static_cast<uint16_t>(below + 1);
      const double largest = std::ldexp(1, f.infinity() / (1 << f.mantissa_bits) - f.bias);
      const double end = above == f.infinity() ? largest : f.value(above);
      const auto middle = static_cast<float>((f.value(below) + end) / 2);
      for (const int sign : {0x0000, 0x8000}) {
        const auto signed_bits = [sign](uint16_t bits) {
          return static_cast<uint16_t>(bits | sign);
        };
        const float direction = sign == 0 ? 1.0f : -1.0f;
        ASSERT_EQ(f.rounded(direction * middle), signed_bits(below % 2 == 0 ? below : above));
        ASSERT_EQ(f.rounded(direction * std::nextafter(middle, 0.0f)), signed_bits(below));
        ASSERT_EQ(f.rounded(direction * std::nextafter(middle, up)), signed_bits(above));
      }
    }
  }
}

TEST(HalfPrecision, BeyondTheLargestNumberIsInfinity) {
  EXPECT_EQ(rounded_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(rounded_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(rounded_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(rounded_to_f16(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(rounded_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(rounded_to_bf16(-std::numeric_limits<float>::infinity()), 0xff80);
  // Far below the smallest: zero with its sign.
  EXPECT_EQ(rounded_to_f16(-1e-30f), 0x8000);
  EXPECT_EQ(rounded_to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
}

TEST(HalfPrecision, NanStaysNan) {
  for (const uint32_t payload : {0x00000001u, 0x00001fffu, 0x0000ffffu, 0x00400000u, 0x007fffffu}) {
    for (const uint32_t sign : {0u, 0x80000000u}) {
      const float nan = std::bit_cast<float>(sign | 0x7f800000u | payload);
      for (const Format& f : formats) {
        EXPECT_TRUE(f.is_nan(f.rounded(nan))) << payload;
        EXPECT_EQ(f.rounded(nan) >> 15, sign >> 31) << payload;
      }
    }
  }
}

TEST(HalfPrecision, ElementsAreReadAndWrittenAtAnyAddress) {
  unsigned char memory[8] = {};
  for (const auto& [dtype, number] :
       {std::pair{FOVEA_F32, 0.1f}, {FOVEA_F16, 0x1.998p-4f}, {FOVEA_BF16, 0x1.9ap-4f}}) {
    for (int at = 0; at < 4; ++at) {
      store_element(memory + at, dtype, 0.1f);
      EXPECT_EQ(load_element(memory + at, dtype), number);
    }
    EXPECT_LE(std::abs(static_cast<double>(number) - static_cast<double>(0.1f)),
              unit_roundoff(dtype) * 0.1);
    EXPECT_EQ(rounded_to(dtype, static_cast<float>(1 + unit_roundoff(dtype))), 1.0f);
  }
  EXPECT_EQ(element_size(FOVEA_BF16), 2);
  EXPECT_EQ(widened_f16(0x0400), smallest_normal(FOVEA_F16));
  EXPECT_EQ(widened_bf16(0x0080), smallest_normal(FOVEA_BF16));
  EXPECT_THROW(load_element(memory, FOVEA_I8), std::invalid_argument);
  EXPECT_THROW(store_element(memory, FOVEA_I32, 1), std::invalid_argument);
  EXPECT_THROW(rounded_to(FOVEA_U8, 1), std::invalid_argument);
}

}  // namespace
}  // namespace fovea
