// half_precision.h: f16 and bf16 numbers, their rounding, and elements of tensors of any float type
// as f32. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_HALF_PRECISION_H
#define FOVEA_DSL_HALF_PRECISION_H

#include <fovea/fovea.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace fovea {

// Exact, subnormal numbers and the payload of NaN included.
constexpr float widened_f16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, size = bits & 0x7fffu;
  if (size >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | (size & 0x3ffu) << 13);
  if (size < 0x400) {
    const float number = static_cast<float>(size) * 0x1p-24f;
    return sign == 0 ? number : -number;
  }
  return std::bit_cast<float>(sign | ((size << 13) + 0x38000000u));  // the exponent is 112 higher
}
constexpr float widened_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// To the nearest, ties to even. Beyond the largest number: infinity. NaN stays NaN with its sign
// and the upper bits of its payload, and becomes quiet.
constexpr uint16_t rounded_to_f16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | (size >> 13 & 0x3ffu));
  if (size >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 2^16
  if (size >= 0x38800000u) {                                              // from 2^-14
    const uint32_t even = size + 0xfffu + (size >> 13 & 1u);
    return static_cast<uint16_t>(sign | (even - 0x38000000u) >> 13);
  }
  // Subnormal: a whole number of 2^-24.
  const uint32_t shift = 126 - (size >> 23);
  if (shift > 24) return static_cast<uint16_t>(sign);
  const uint32_t mantissa = (size & 0x7fffffu) | 0x800000u;
  const uint32_t even = mantissa + (1u << (shift - 1)) - 1 + (mantissa >> shift & 1u);
  return static_cast<uint16_t>(sign | even >> shift);
}
constexpr uint16_t rounded_to_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// The types below are f32, f16 and bf16; std::invalid_argument for any other.
[[noreturn]] inline void refuse_element_type(fovea_dtype dtype) {
  throw std::invalid_argument(
      "fovea: elements of q, k, v and out are f32, f16 or bf16, not dtype " +
      std::to_string(static_cast<int>(dtype)));
}

constexpr int64_t element_size(fovea_dtype dtype) {
  if (dtype == FOVEA_F32) return 4;
  if (dtype == FOVEA_F16 || dtype == FOVEA_BF16) return 2;
  refuse_element_type(dtype);
}

// The largest relative error of rounding a normal number: half a unit in the last place.
constexpr double unit_roundoff(fovea_dtype dtype) {
  if (dtype == FOVEA_F32) return 0x1p-24;
  if (dtype == FOVEA_F16) return 0x1p-11;
  if (dtype == FOVEA_BF16) return 0x1p-8;
  refuse_element_type(dtype);
}

// The smallest positive number that is not subnormal.
constexpr double smallest_normal(fovea_dtype dtype) {
  return dtype == FOVEA_F16 ? 0x1p-14 : 0x1p-126;
}

constexpr float rounded_to(fovea_dtype dtype, float x) {
  if (dtype == FOVEA_F32) return x;
  if (dtype == FOVEA_F16) return widened_f16(rounded_to_f16(x));
  if (dtype == FOVEA_BF16) return widened_bf16(rounded_to_bf16(x));
  refuse_element_type(dtype);
}

// An element in memory, which needs no more alignment than its type has.
inline float load_element(const void* element, fovea_dtype dtype) {
  if (dtype == FOVEA_F32) {
    float x = 0;
    std::memcpy(&x, element, sizeof x);
    return x;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, element, sizeof bits);
  if (dtype == FOVEA_F16) return widened_f16(bits);
  if (dtype == FOVEA_BF16) return widened_bf16(bits);
  refuse_element_type(dtype);
}
inline void store_element(void* element, fovea_dtype dtype, float x) {
  if (dtype == FOVEA_F32) {
    std::memcpy(element, &x, sizeof x);
    return;
  }
  if (dtype != FOVEA_F16 && dtype != FOVEA_BF16) refuse_element_type(dtype);
  const uint16_t bits = dtype == FOVEA_F16 ? rounded_to_f16(x) : rounded_to_bf16(x);
  std::memcpy(element, &bits, sizeof bits);
}

}  // namespace fovea

#endif
