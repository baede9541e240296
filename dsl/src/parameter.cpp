// parameter.cpp: ranges of scalars and entries of tables.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/parameter.h>
#include <fovea/dsl/variant.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "expression_text.h"
#include "text_rules.h"

namespace fovea::detail {

Expr table_entry(const std::string& variant, const Parameter& table,
                 const std::vector<Expr>& indices) {
  const std::string field = fmt::format("table '{}'", table.name);
  if (indices.size() != table.axes.size()) {
    throw DeclarationError(variant, field, fmt::format("read with {} indices", indices.size()),
                           fmt::format("it is declared with {} axes", table.axes.size()),
                           "pass one index per axis, in the order of the declaration");
  }
  std::vector<Expr> arguments;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Expr& index = indices[i];
    if (!index.defined() || !index.type().is_int_or_uint() || index.type().is_bool()) {
      throw DeclarationError(
          variant, field,
          fmt::format("read with index {} {}", i,
                      index.defined() ? type_phrase(index) : "that is undefined"),
          "an index is an integer expression", "use p.head, p.q - p.k, … or cast<int>(…)");
    }
    arguments.push_back(Halide::cast<int32_t>(index));
  }
  return Halide::Internal::Call::make(table.type, table_prefix + table.name, arguments,
                                      Halide::Internal::Call::PureExtern);
}

Expr table_extent(const std::string& variant, const Parameter& table, int axis) {
  if (axis < 0 || axis >= static_cast<int>(table.axes.size())) {
    throw DeclarationError(variant, fmt::format("table '{}'", table.name),
                           fmt::format("asked for the extent of axis {}", axis),
                           fmt::format("it is declared with {} axes", table.axes.size()),
                           "count axes from 0");
  }
  return Halide::Internal::Call::make(Halide::Int(32), extent_prefix + table.name, {Expr(axis)},
                                      Halide::Internal::Call::PureExtern);
}

void describe(const std::string& variant, Parameter& parameter, std::string text) {
  const std::string field = fmt::format("description of '{}'", parameter.name);
  if (!parameter.description.empty()) {
    throw DeclarationError(variant, field, fmt::format("'{}', given twice", text),
                           "a parameter has one description", "keep one of the calls of describe");
  }
  require_line(variant, field, text);
  parameter.description = std::move(text);
}

void restrict_range(const std::string& variant, Parameter& scalar, double minimum, double maximum,
                    bool exclusive_minimum) {
  const auto refuse = [&](double low, double high, bool exclusive) {
    throw DeclarationError(variant, fmt::format("scalar '{}'", scalar.name),
                           fmt::format("allowed in {}{}, {}]", exclusive ? "(" : "[", low, high),
                           "a range holds at least one number", "put the smaller bound first");
  };
  if (std::isnan(minimum) || std::isnan(maximum)) refuse(minimum, maximum, exclusive_minimum);
  // Ranges add up: positive() after at_least(3) does not bring 1 back.
  if (minimum < scalar.minimum) {
    minimum = scalar.minimum;
    exclusive_minimum = scalar.exclusive_minimum;
  } else if (minimum == scalar.minimum) {
    exclusive_minimum = exclusive_minimum || scalar.exclusive_minimum;
  }
  maximum = std::min(maximum, scalar.maximum);
  const double infinity = std::numeric_limits<double>::infinity();
  // The smallest value of an integer above an excluded one is the next.
  const double smallest = exclusive_minimum && scalar.type.is_int() ? minimum + 1 : minimum;
  const bool empty =
      exclusive_minimum && !scalar.type.is_int() ? minimum >= maximum : smallest > maximum;
  if (empty || minimum == infinity || maximum == -infinity)
    refuse(minimum, maximum, exclusive_minimum);
  scalar.minimum = minimum;
  scalar.maximum = maximum;
  scalar.exclusive_minimum = exclusive_minimum;
}

}  // namespace fovea::detail
