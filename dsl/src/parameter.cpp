// parameter.cpp: ranges of scalars and entries of tables.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/parameter.h>
#include <fovea/dsl/variant.h>

#include <cmath>
#include <sstream>

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
    if (!index.defined() || !index.type().is_int_or_uint()) {
      std::ostringstream type;
      if (index.defined()) type << index.type();
      throw DeclarationError(variant, field,
                             fmt::format("read with index {} of type {}", i,
                                         index.defined() ? type.str() : "undefined"),
                             "an index is an integer expression",
                             "use p.head, p.q - p.k, … or cast<int>(…)");
    }
    arguments.push_back(Halide::cast<int32_t>(index));
  }
  return Halide::Internal::Call::make(table.type, table_prefix + table.name, arguments,
                                      Halide::Internal::Call::PureExtern);
}

void restrict_range(const std::string& variant, Parameter& scalar, double minimum, double maximum,
                    bool exclusive_minimum) {
  const std::string field = fmt::format("scalar '{}'", scalar.name);
  const bool empty = exclusive_minimum ? minimum >= maximum : minimum > maximum;
  if (std::isnan(minimum) || std::isnan(maximum) || empty) {
    throw DeclarationError(
        variant, field,
        fmt::format("allowed in {}{}, {}]", exclusive_minimum ? "(" : "[", minimum, maximum),
        "a range holds at least one value", "put the smaller bound first");
  }
  scalar.minimum = minimum;
  scalar.maximum = maximum;
  scalar.exclusive_minimum = exclusive_minimum;
}

}  // namespace fovea::detail
