// example.cpp: examples turned into memory.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/example.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

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
  const double value = scalar.example_scalar(shape);
  const bool allowed = value >= scalar.minimum && value <= scalar.maximum &&
                       !(scalar.exclusive_minimum && value == scalar.minimum) &&
                       !(scalar.type.is_int() && value != std::trunc(value));
  if (!allowed) {
    throw DeclarationError(
        variant.name(), fmt::format("example of '{}'", scalar.name), fmt::format("{}", value),
        fmt::format("{} in {}{}, {}]", scalar.type.is_int() ? "an integer" : "a number",
                    scalar.exclusive_minimum ? "(" : "[", scalar.minimum, scalar.maximum),
        "give a value of the declared range for every shape");
  }
  return value;
}

int64_t extent_of(const Variant& variant, const Parameter& table, const Axis& axis,
                  const ExampleShape& shape) {
  switch (axis.kind) {
    case Axis::Kind::Fixed:
      return axis.extent;
    case Axis::Kind::Batch:
      return shape.batch;
    case Axis::Kind::Head:
      return shape.heads;
    case Axis::Kind::KvHead:
      return shape.kv_heads;
    // The last query sits at kv_len - 1, so both kinds of positions end there.
    case Axis::Kind::Query:
    case Axis::Kind::Key:
    case Axis::Kind::Position:
      return std::max<int64_t>(shape.kv_len, 1);
    case Axis::Kind::Row:
      return shape.q_len;
    case Axis::Kind::Feature:
      return shape.d_qk;
    case Axis::Kind::ValueFeature:
      return shape.d_v;
    case Axis::Kind::Any:
      break;
  }
  const int64_t extent = table.example_extent ? table.example_extent(shape) : 1;
  if (extent < 1 || extent > INT32_MAX) {
    throw DeclarationError(variant.name(), fmt::format("example extent of '{}'", table.name),
                           fmt::format("{}", extent), "1 to 2147483647 entries",
                           "give at least one entry for every shape");
  }
  return extent;
}

template <typename T>
void store(std::vector<std::byte>& entries, int64_t at, double value) {
  const T entry = static_cast<T>(value);
  std::memcpy(&entries[static_cast<size_t>(at) * sizeof(T)], &entry, sizeof(T));
}

std::vector<std::byte> table_entries(const Parameter& table, const std::vector<int64_t>& extents,
                                     const ExampleShape& shape) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  const bool is_bool = table.type.is_uint();
  std::vector<std::byte> entries(static_cast<size_t>(count * table.type.bytes()));
  std::vector<int64_t> index(extents.size(), 0);
  for (int64_t at = 0; at < count; ++at) {
    const double value =
        table.example_entry ? table.example_entry(shape, index) : (is_bool ? 1.0 : 0.0);
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
      extents.push_back(extent_of(variant, *parameter, axis, shape));
    }
    tables_.push_back(table_entries(*parameter, extents, shape));
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
