// example.cpp: examples turned into memory.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/example.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "example_rules.h"

namespace fovea {
namespace {

double closest_to_one(const Parameter& scalar) {
  const bool is_int = scalar.type.is_int();
  double lowest = scalar.minimum;
  if (scalar.exclusive_minimum && is_int) lowest += 1;
  const double value = std::clamp(1.0, lowest, scalar.maximum);
  if (!scalar.exclusive_minimum || value > scalar.minimum) return value;
  // An excluded bound at or above 1 has no closest value; any above it will do.
  return std::isinf(scalar.maximum) ? scalar.minimum + 1 : (scalar.minimum + scalar.maximum) / 2;
}

double scalar_value(const Variant& variant, const Parameter& scalar, const ExampleShape& shape) {
  if (!scalar.example_scalar) return closest_to_one(scalar);
  return detail::example_scalar(variant.name(), scalar, shape);
}

template <typename T>
void store(std::vector<std::byte>& entries, int64_t at, double value) {
  const T entry = static_cast<T>(value);
  std::memcpy(&entries[static_cast<size_t>(at) * sizeof(T)], &entry, sizeof(T));
}

std::vector<std::byte> table_entries(const Variant& variant, const Parameter& table,
                                     const std::vector<int64_t>& extents,
                                     const ExampleShape& shape) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  const bool is_bool = table.type.is_uint();
  std::vector<std::byte> entries(static_cast<size_t>(count * table.type.bytes()));
  std::vector<int64_t> index(extents.size(), 0);
  for (int64_t at = 0; at < count; ++at) {
    const double value = table.example_entry
                             ? detail::example_entry(variant.name(), table, shape, index)
                             : (is_bool ? 1.0 : 0.0);
    if (is_bool) {
      store<uint8_t>(entries, at, value != 0 ? 1 : 0);
    } else if (table.type.is_float()) {
      store<float>(entries, at, value);
    } else {
      store<int32_t>(entries, at, value);
    }
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < extents[axis]) break;
      index[axis] = 0;
    }
  }
  return entries;
}

}  // namespace

ExampleParameters::ExampleParameters(const Variant& variant, const ExampleShape& shape) {
  for (const auto& parameter : variant.parameters()) {
    ParameterValue& value = values_[parameter->name];
    if (parameter->kind == Parameter::Kind::Scalar) {
      value.scalar = scalar_value(variant, *parameter, shape);
      if (parameter->type.is_float()) {
        const auto number = static_cast<float>(value.scalar);
        value.scalar = static_cast<double>(number);
        append_(number);
      } else {
        append_(static_cast<int32_t>(value.scalar));
      }
      continue;
    }
    std::vector<int64_t> extents;
    for (const Axis& axis : parameter->axes) {
      extents.push_back(detail::axis_extent(variant.name(), *parameter, axis, shape));
    }
    tables_.push_back(table_entries(variant, *parameter, extents, shape));
    value.table.data = tables_.back().data();
    int64_t stride = 1;
    for (size_t axis = extents.size(); axis-- > 0;) {
      value.table.extent[axis] = extents[axis];
      value.table.stride[axis] = stride;
      stride *= extents[axis];
    }
    append_(value.table);
  }
}

// The fields of a C structure: each at a multiple of its own alignment.
template <typename T>
void ExampleParameters::append_(const T& field) {
  const size_t offset = (block_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
  block_.resize(offset + sizeof(T));
  std::memcpy(&block_[offset], &field, sizeof(T));
}

}  // namespace fovea
