// element.cpp: conversions by bits where the target has no instruction for them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/element.h"

#include <fmt/format.h>

#include <stdexcept>

namespace fovea {
namespace {

using Halide::BFloat;
using Halide::cast;
using Halide::Expr;
using Halide::Float;
using Halide::reinterpret;
using Halide::select;
using Halide::Target;

Expr word(uint32_t bits) { return Halide::Internal::make_const(Halide::UInt(32), bits); }

Expr bits_of(const Expr& value) { return reinterpret(Halide::UInt(32), value); }

Expr has_f16_instructions() {
  return Halide::target_has_feature(Target::F16C) || Halide::target_has_feature(Target::ARMFp16) ||
         Halide::target_has_feature(Target::CUDA);
}

constexpr uint32_t sign_bit = 0x80000000u, f32_infinity = 0x7f800000u;

// Exponents are moved by a multiplication, which makes normal numbers of subnormal ones on the way.
Expr f16_to_f32(const Expr& half_bits) {
  const Expr wide = cast<uint32_t>(half_bits), magnitude = (wide & word(0x7fffu)) << 13;
  const Expr finite =
      bits_of(reinterpret(Float(32), magnitude) * reinterpret(Float(32), word(0x77800000u)));
  const Expr special = magnitude >= word(0x0f800000u);  // infinity, NaN
  return reinterpret(Float(32), ((wide & word(0x8000u)) << 16) |
                                    select(special, magnitude | word(f32_infinity), finite));
}

Expr f32_to_f16(const Expr& value) {
  const Expr bits = bits_of(value), magnitude = bits & word(~sign_bit);
  const Expr odd = (magnitude >> 13) & word(1);
  // 15 - 127 in the exponent, then to nearest even; numbers from 65520 on become infinity here.
  const Expr normal = (magnitude + word(0xc8000fffu) + odd) >> 13;
  // Below 2^-14: adding 0.5 leaves the subnormal's digits at the end of the significand.
  const Expr half = Halide::strict_float(reinterpret(Float(32), magnitude) + 0.5f);
  const Expr subnormal = bits_of(half) - word(0x3f000000u);
  const Expr large = select(magnitude > word(f32_infinity), word(0x7e00u), word(0x7c00u));
  const Expr rounded = select(magnitude >= word(0x47800000u), large, magnitude < word(0x38800000u),
                              subnormal, normal);
  return cast<uint16_t>(((bits >> 16) & word(0x8000u)) | rounded);
}

// In the upper half of a word; the lower half is not cleared.
Expr f32_to_bf16(const Expr& value) {
  const Expr bits = bits_of(value);
  const Expr rounded = bits + word(0x7fffu) + ((bits >> 16) & word(1));
  // Signed: older vector units compare nothing else.
  const Expr is_nan =
      reinterpret<int32_t>(bits & word(~sign_bit)) > static_cast<int32_t>(f32_infinity);
  return select(is_nan, bits | word(0x00400000u), rounded);
}

Expr joined(const Expr& first, const Expr& second) {
  return (first >> 16) | (second & word(0xffff0000u));
}

}  // namespace

Element element_of(const std::string& dtype) {
  if (dtype == "f32") return Element::F32;
  if (dtype == "f16") return Element::F16;
  if (dtype == "bf16") return Element::BF16;
  throw std::invalid_argument(fmt::format("dtype '{}': allowed: f32, f16, bf16", dtype));
}

Halide::Type stored_type(Element element) {
  switch (element) {
    case Element::F16:
      return Float(16);
    case Element::BF16:
      return BFloat(16);
    case Element::F32:
      break;
  }
  return Float(32);
}

Halide::Type bits_type(Element element) {
  return element == Element::F32 ? Float(32) : Halide::UInt(16);
}

Expr widen(const Expr& stored, Element element) {
  if (stored.type() != Halide::UInt(16)) return widen(stored);
  if (element == Element::BF16) return reinterpret(Float(32), cast<uint32_t>(stored) << 16);
  return select(has_f16_instructions(), cast(Float(32), reinterpret(Float(16), stored)),
                f16_to_f32(stored));
}

Expr narrow_to_bits(const Expr& value, Element element) {
  if (element == Element::F32) return value;
  if (element == Element::BF16) return cast<uint16_t>(f32_to_bf16(value) >> 16);
  return select(has_f16_instructions(), reinterpret(Halide::UInt(16), cast(Float(16), value)),
                f32_to_f16(value));
}

Expr widen(const Expr& stored) {
  if (stored.type() == Float(32)) return stored;
  const Expr half_bits = reinterpret(Halide::UInt(16), stored);
  if (stored.type() == BFloat(16)) {
    return reinterpret(Float(32), cast<uint32_t>(half_bits) << 16);
  }
  return select(has_f16_instructions(), cast(Float(32), stored), f16_to_f32(half_bits));
}

Expr narrow(const Expr& value, Element element) {
  switch (element) {
    case Element::F16:
      return select(has_f16_instructions(), cast(Float(16), value),
                    reinterpret(Float(16), f32_to_f16(value)));
    case Element::BF16:
      return reinterpret(BFloat(16), cast<uint16_t>(f32_to_bf16(value) >> 16));
    case Element::F32:
      break;
  }
  return value;
}

Expr stored_pair(const Expr& first) {
  return Halide::Internal::Call::make(Halide::UInt(32), stored_pair_name, {first},
                                      Halide::Internal::Call::PureExtern);
}

Expr pair_of_stored(const Expr& first, const Expr& second) {
  const auto bits = [](const Expr& e) { return cast<uint32_t>(reinterpret(Halide::UInt(16), e)); };
  return bits(first) | (bits(second) << 16);
}

Expr pair_of_rounded(const Expr& first, const Expr& second) {
  return joined(f32_to_bf16(first), f32_to_bf16(second));
}

Expr pair_of_weights(const Expr& first, const Expr& second) {
  // The minimum makes every NaN one that rounding cannot carry out of its range.
  const auto rounded = [](const Expr& e) {
    return Halide::min(bits_of(e), word(0x7fff0000u)) + word(0x8000u);
  };
  return joined(rounded(first), rounded(second));
}

Expr dot_pair(const Expr& a, const Expr& b) {
  return Halide::Internal::Call::make(Float(32), dot_pair_name, {a, b},
                                      Halide::Internal::Call::PureExtern);
}

}  // namespace fovea
