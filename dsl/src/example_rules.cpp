// SPDX-License-Identifier: Apache-2.0
#include "example_rules.h"

#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>

#include <algorithm>
#include <cmath>
#include <exception>

namespace fovea::detail {
namespace {

// Runs the author's code.
template <typename F>
auto asked(const std::string& variant, const std::string& field, F&& example) {
  try {
    return example();
  } catch (const DeclarationError&) {
    throw;
  } catch (const std::exception& error) {
    throw DeclarationError(variant, field, fmt::format("an exception: {}", error.what()),
                           "an example is a number for every shape",
                           "use one index for each axis of the table, and no other");
  }
}

std::string index_text(const std::vector<int64_t>& index) {
  std::string text;
  for (const int64_t i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text;
}

bool is_integer_parameter(double value) {
  return value == std::trunc(value) && std::abs(value) <= largest_integer;
}

}  // namespace

double example_scalar(const std::string& variant, const Parameter& scalar,
                      const ExampleShape& shape) {
  const std::string field = fmt::format("example of '{}'", scalar.name);
  const double value = asked(variant, field, [&] { return scalar.example_scalar(shape); });
  const bool allowed = value >= scalar.minimum && value <= scalar.maximum &&
                       !(scalar.exclusive_minimum && value == scalar.minimum) &&
                       !(scalar.type.is_int() && value != std::trunc(value));
  if (!allowed) {
    throw DeclarationError(
        variant, field, fmt::format("{}", value),
        fmt::format("{} in {}{}, {}]", scalar.type.is_int() ? "an integer" : "a number",
                    scalar.exclusive_minimum ? "(" : "[", scalar.minimum, scalar.maximum),
        "give a value of the declared range for every shape");
  }
  return value;
}

double example_entry(const std::string& variant, const Parameter& table, const ExampleShape& shape,
                     const std::vector<int64_t>& index) {
  const std::string field = fmt::format("example of '{}'", table.name);
  const double value = asked(variant, field, [&] { return table.example_entry(shape, index); });
  const bool is_int = table.type.is_int();  // of bool: 0 is false, any other number true
  if (is_int ? !is_integer_parameter(value) : std::isnan(value)) {
    throw DeclarationError(
        variant, field, fmt::format("{} at ({})", value, index_text(index)),
        is_int ? "an integer in [-1073741824, 1073741824]" : "a number, or an infinity",
        "give an entry that a caller may pass for every index");
  }
  return value;
}

int64_t example_extent(const std::string& variant, const Parameter& table,
                       const ExampleShape& shape) {
  const std::string field = fmt::format("example extent of '{}'", table.name);
  const int64_t extent = asked(variant, field, [&] { return table.example_extent(shape); });
  if (extent < 1 || extent > INT32_MAX) {
    throw DeclarationError(variant, field, fmt::format("{}", extent), "1 to 2147483647 entries",
                           "give at least one entry for every shape");
  }
  return extent;
}

int64_t axis_extent(const std::string& variant, const Parameter& table, const Axis& axis,
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
  return table.example_extent ? example_extent(variant, table, shape) : 1;
}

void check_examples(const std::string& variant, const Parameter& parameter) {
  const ExampleShape small = {.batch = 2, .heads = 4, .kv_heads = 2, .q_len = 3, .kv_len = 5};
  if (parameter.example_scalar) example_scalar(variant, parameter, small);
  if (parameter.example_extent) {
    example_extent(variant, parameter, small);
    const bool is_free = std::any_of(parameter.axes.begin(), parameter.axes.end(),
                                     [](const Axis& a) { return a.kind == Axis::Kind::Any; });
    if (!is_free) {
      throw DeclarationError(variant, fmt::format("example extent of '{}'", parameter.name),
                             "given for a table without a free axis",
                             "the extents of other axes follow from the shape",
                             "leave it out, or declare axis::any");
    }
  }
  if (!parameter.example_entry) return;
  const size_t rank = parameter.axes.size();
  for (size_t corner = 0; corner < size_t{1} << rank; ++corner) {
    std::vector<int64_t> index;
    for (size_t axis = 0; axis < rank; ++axis) {
      const bool is_last = (corner >> axis & 1) != 0;
      index.push_back(is_last ? axis_extent(variant, parameter, parameter.axes[axis], small) - 1
                              : 0);
    }
    example_entry(variant, parameter, small, index);
  }
}

}  // namespace fovea::detail
