// element_type.cpp: f32, f16 and bf16 by name.
// SPDX-License-Identifier: Apache-2.0
#include "bench/element_type.h"

#include <Halide.h>
#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

namespace fovea::bench {

fovea_dtype parse_element_type(const std::string& name) {
  if (name == "f32") return FOVEA_F32;
  if (name == "f16") return FOVEA_F16;
  if (name == "bf16") return FOVEA_BF16;
  throw std::invalid_argument(fmt::format("--dtype '{}': allowed is f32, f16, bf16", name));
}

size_t bytes_of(fovea_dtype type) { return type == FOVEA_F32 ? 4 : 2; }

void store(fovea_dtype type, void* array, size_t i, float value) {
  if (type == FOVEA_F32) {
    static_cast<float*>(array)[i] = value;
  } else {
    static_cast<uint16_t*>(array)[i] = type == FOVEA_F16 ? Halide::float16_t(value).to_bits()
                                                         : Halide::bfloat16_t(value).to_bits();
  }
}

float load(fovea_dtype type, const void* array, size_t i) {
  if (type == FOVEA_F32) return static_cast<const float*>(array)[i];
  const uint16_t bits = static_cast<const uint16_t*>(array)[i];
  return type == FOVEA_F16 ? static_cast<float>(Halide::float16_t::make_from_bits(bits))
                           : static_cast<float>(Halide::bfloat16_t::make_from_bits(bits));
}

double rounded(fovea_dtype type, double value) {
  float stored = 0;
  store(type, &stored, 0, static_cast<float>(value));
  return static_cast<double>(load(type, &stored, 0));
}

}  // namespace fovea::bench
