// Elements of f32, f16 and bf16 tensors as f32 and back, without branches: loops over them become
// vector code on any CPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_ELEMENTS_H
#define FOVEA_ELEMENTS_H

#include <stdint.h>
#include <string.h>

namespace fovea::detail {

struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

inline float float_of(int32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}
inline int32_t bits_of(float x) {
  int32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// By bits: a branch around arithmetic of floats, which might trap, would keep a loop scalar.
inline int32_t select(bool which, int32_t yes, int32_t no) {
  const int32_t mask = -static_cast<int32_t>(which);
  return (yes & mask) | (no & ~mask);
}

// Exact, subnormal numbers and the payload of NaN included.
inline float widened(float x) { return x; }
inline float widened(F16 x) {
  const int32_t size = x.bits & 0x7fff;
  // A whole number of 2^-24, made without any subnormal f32, which a thread may have set to 0.
  const int32_t subnormal = bits_of(static_cast<float>(size) * 0x1p-24F);
  const int32_t exponent = select(size >= 0x7c00, 0x70000000, 0x38000000);  // 224, 112 higher
  const int32_t normal = (size << 13) + exponent;
  const uint32_t sign = (x.bits & 0x8000U) << 16;
  return float_of(static_cast<int32_t>(sign) | select(size < 0x400, subnormal, normal));
}
inline float widened(Bf16 x) {
  return float_of(static_cast<int32_t>(static_cast<uint32_t>(x.bits) << 16));
}

// To the nearest, ties to even. Beyond the largest number: infinity. NaN stays NaN.
inline void round_to(float x, float* to) { *to = x; }
inline void round_to(float x, F16* to) {
  const int32_t bits = bits_of(x);
  const int32_t size = bits & 0x7fffffff;
  const int32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  // 0.5 has the unit of subnormal f16 numbers, 2^-24: the sum is rounded to it.
  const int32_t subnormal = bits_of(float_of(size) + 0.5F) - 0x3f000000;
  const int32_t special = select(size > 0x7f800000, 0x7e00 | (size >> 13 & 0x3ff), 0x7c00);
  const int32_t finite = select(size < 0x38800000, subnormal, normal);  // 2^-14
  const int32_t rounded = select(size >= 0x47800000, special, finite);  // 2^16
  to->bits = static_cast<uint16_t>((bits >> 16 & 0x8000) | rounded);
}
inline void round_to(float x, Bf16* to) {
  const int32_t bits = bits_of(x);
  const uint32_t raised = static_cast<uint32_t>(bits) + 0x7fffU + (bits >> 16 & 1);
  const int32_t quiet = bits >> 16 | 0x40;
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  to->bits = static_cast<uint16_t>(select(is_nan, quiet, static_cast<int32_t>(raised >> 16)));
}

}  // namespace fovea::detail
#endif
