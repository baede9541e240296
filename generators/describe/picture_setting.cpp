// picture_setting.cpp: examples shrunk to the size of a picture.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/picture_setting.h"

#include <algorithm>
#include <cmath>

namespace fovea {
namespace {

constexpr int64_t usual_length = 2048, picture_length = 64;
constexpr double least_shrunk = 8;  // steps, reaches of blocks and the like stay

ExampleShape shape_of(int64_t length) { return {1, 8, 8, length, length, 64, 64}; }

bool has_free_extent(const Variant& variant) {
  for (const auto& p : variant.parameters()) {
    for (const Axis& a : p->axes) {
      if (a.kind == Axis::Kind::Any) return true;
    }
  }
  return false;
}

// An odd window stays odd: it has a middle.
double shrunk(const Parameter& p, double value) {
  double small = std::max(2.0, std::round(value * picture_length / usual_length));
  if (std::fmod(value, 2) == 1 && std::fmod(small, 2) == 0) small += 1;
  const double least = p.exclusive_minimum ? p.minimum + 1 : p.minimum;
  return std::clamp(small, least, p.maximum);
}

}  // namespace

PictureSetting picture_setting(const Variant& variant) {
  if (has_free_extent(variant)) return {shape_of(usual_length), {}};
  PictureSetting setting{shape_of(picture_length), {}};
  for (const auto& p : variant.parameters()) {
    if (p->kind != Parameter::Kind::Scalar || !p->type.is_int() || !p->example_scalar) continue;
    const double value = p->example_scalar(shape_of(usual_length));
    const bool follows_shape = value != p->example_scalar(shape_of(picture_length));
    if (!follows_shape && value >= least_shrunk) setting.scalars[p->name] = shrunk(*p, value);
  }
  return setting;
}

}  // namespace fovea
