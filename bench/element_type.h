// element_type.h: f32, f16 and bf16 by name.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_ELEMENT_TYPE_H
#define FOVEA_BENCH_ELEMENT_TYPE_H

#include <fovea/fovea.h>

#include <cstddef>
#include <string>

namespace fovea::bench {

// Throws std::invalid_argument naming what is allowed.
fovea_dtype parse_element_type(const std::string& name);

size_t bytes_of(fovea_dtype type);

// Element i of an array, rounded to nearest even on the way in.
void store(fovea_dtype type, void* array, size_t i, float value);
float load(fovea_dtype type, const void* array, size_t i);

// The nearest number of the type.
double rounded(fovea_dtype type, double value);

}  // namespace fovea::bench

#endif
