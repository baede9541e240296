// cache_kind.cpp: numbers of quantised caches by their bits.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/cache_kind.h"

#include <fmt/format.h>

#include <stdexcept>

namespace fovea {
namespace {

using Halide::cast;
using Halide::Expr;
using Halide::reinterpret;
using Halide::select;

constexpr int32_t nan_bits = 0x7fc00000, infinity_bits = 0x7f800000;

Expr f16_of_bits(const Expr& bits) { return widen(bits, Element::F16); }

// The exponent of E4M3 moved into that of f16 is too small by 8 (number_factor); subnormal numbers
// come out right as well, being subnormal there.
Expr e4m3_to_f32(const Expr& byte) {
  const Expr wide = cast<uint16_t>(byte);
  const Expr magnitude = wide & cast<uint16_t>(0x7f);
  const Expr half =
      ((wide & cast<uint16_t>(0x80)) << cast<uint16_t>(8)) | (magnitude << cast<uint16_t>(7));
  const Expr value = f16_of_bits(half);
  return reinterpret<float>(
      select(magnitude == cast<uint16_t>(0x7f), Expr(nan_bits), reinterpret<int32_t>(value)));
}

struct SmallFloat {
  int digits;        // stored ones
  int32_t exponent;  // of 1.0, in the small float
  int32_t largest;   // its bits
  int32_t nan;       // bits of NaN without the sign
};

Expr f32_to_small(const Expr& value, const SmallFloat& f) {
  const Expr bits = reinterpret<int32_t>(value);
  // Of infinity and NaN nothing but that they are so large.
  const Expr magnitude = Halide::min(bits & 0x7fffffff, infinity_bits);
  const int shift = 23 - f.digits;
  // Normal numbers: to nearest even at the last digit that stays, with the exponent moved.
  const Expr odd = (magnitude >> shift) & 1;
  const Expr moved =
      ((magnitude + ((1 << (shift - 1)) - 1) + odd) >> shift) - ((127 - f.exponent) << f.digits);
  // Below the smallest normal number: adding a power of two leaves the digits at the end of the
  // significand, rounded to nearest even by the addition itself.
  const int32_t power = (127 + 23 - f.digits + 1 - f.exponent) << 23;
  const Expr anchor = reinterpret<float>(Expr(power));
  const Expr sum = Halide::strict_float(reinterpret<float>(magnitude) + anchor);
  const Expr subnormal = reinterpret<int32_t>(sum) - power;
  const int32_t normal_from = (127 + 1 - f.exponent) << 23;
  const Expr finite = Halide::min(select(magnitude < normal_from, subnormal, moved), f.largest);
  const Expr small = select(magnitude >= infinity_bits, Expr(f.nan), finite);
  return cast<uint8_t>(((bits >> 24) & 0x80) | small);
}

constexpr SmallFloat e4m3{3, 7, 0x7e, 0x7f};
constexpr SmallFloat e5m2{2, 15, 0x7b, 0x7f};

}  // namespace

CacheKind cache_kind_of(const std::string& name) {
  for (const CacheKindRow& row : cache_kinds) {
    if (name == row.name) return row.kind;
  }
  throw std::invalid_argument(
      fmt::format("cache '{}': allowed is one of none, same, int8, int4, e4m3, e5m2", name));
}

const CacheKindRow& row_of(CacheKind kind) { return cache_kinds.at(static_cast<size_t>(kind)); }

Halide::Type stored_type(Element element, CacheKind kind) {
  switch (kind) {
    case CacheKind::None:
    case CacheKind::Same:
      return stored_type(element);
    case CacheKind::Int8:
      return Halide::Int(8);
    case CacheKind::Int4:
    case CacheKind::E4M3:
    case CacheKind::E5M2:
      break;
  }
  return Halide::UInt(8);
}

Expr quantised_number(CacheKind kind, const Expr& feature, int unit,
                      const std::function<Expr(const Expr&)>& stored) {
  switch (kind) {
    case CacheKind::Int8:
      return cast<float>(cast<int32_t>(stored(feature)));
    case CacheKind::Int4: {
      const Expr first = feature / unit * unit;  // of the features that are read at once
      const Expr byte =
          first / (2 * int4_distance) * int4_distance + first % int4_distance + feature % unit;
      const Expr shift = first / int4_distance % 2 * 4;
      const Expr bits = (cast<int32_t>(stored(byte)) >> shift) & 15;
      return cast<float>(bits - 8);
    }
    case CacheKind::E4M3:
      return e4m3_to_f32(stored(feature));
    case CacheKind::E5M2:
      return f16_of_bits(cast<uint16_t>(stored(feature)) << cast<uint16_t>(8));
    case CacheKind::None:
    case CacheKind::Same:
      break;
  }
  throw std::logic_error("a cache that is not quantised holds no numbers with scales");
}

float number_factor(CacheKind kind) { return kind == CacheKind::E4M3 ? 256.0f : 1.0f; }

float largest_number(CacheKind kind) {
  switch (kind) {
    case CacheKind::Int8:
      return 127.0f;
    case CacheKind::Int4:
      return 7.0f;
    case CacheKind::E4M3:
      return 448.0f;
    case CacheKind::E5M2:
      return 57344.0f;
    case CacheKind::None:
    case CacheKind::Same:
      break;
  }
  throw std::logic_error("a cache that is not quantised has no largest number");
}

Expr quantise(CacheKind kind, const Expr& number) {
  switch (kind) {
    case CacheKind::Int8:
      return cast<int8_t>(Halide::clamp(cast<int32_t>(Halide::round(number)), -127, 127));
    case CacheKind::Int4:
      return cast<uint8_t>(Halide::clamp(cast<int32_t>(Halide::round(number)), -7, 7) + 8);
    case CacheKind::E4M3:
      return f32_to_small(number, e4m3);
    case CacheKind::E5M2:
      return f32_to_small(number, e5m2);
    case CacheKind::None:
    case CacheKind::Same:
      break;
  }
  throw std::logic_error("a cache that is not quantised rounds nothing");
}

}  // namespace fovea
