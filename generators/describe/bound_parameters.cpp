// bound_parameters.cpp: values of parameters for the interpreter.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/bound_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fovea {
namespace {

double entry(const fovea_table& table, Halide::Type type, const std::vector<int64_t>& indices) {
  int64_t at = 0;
  for (size_t axis = 0; axis < indices.size(); ++axis)
    at += std::clamp<int64_t>(indices[axis], 0, table.extent[axis] - 1) * table.stride[axis];
  if (type.is_float()) return static_cast<const float*>(table.data)[at];
  if (type == Halide::UInt(8)) return static_cast<const uint8_t*>(table.data)[at] != 0;
  return static_cast<const int32_t*>(table.data)[at];
}

}  // namespace

BoundParameters::BoundParameters(const Variant& variant, const ParameterValues& values) {
  std::map<std::string, std::pair<Halide::Type, const fovea_table*>> tables;
  for (const auto& p : variant.parameters()) {
    const auto found = values.find(p->name);
    if (found == values.end())
      throw std::invalid_argument(
          fmt::format("parameter '{}' of '{}' has no value", p->name, variant.name()));
    if (p->kind == Parameter::Kind::Table) {
      tables[p->name] = {p->type, &found->second.table};
    } else if (p->type.is_float()) {
      environment_.variables[p->name] = Lanes<double>::real(found->second.scalar);
    } else {
      environment_.variables[p->name] =
          Lanes<double>::integer(static_cast<int64_t>(found->second.scalar));
    }
  }
  environment_.table = [tables](const std::string& name, const std::vector<int64_t>& indices) {
    const auto& [type, table] = tables.at(name);
    return entry(*table, type, indices);
  };
  environment_.extent = [tables](const std::string& name, int64_t axis) {
    return tables.at(name).second->extent[axis];
  };
}

void BoundParameters::set(const std::string& variable, int64_t value) {
  environment_.variables[variable] = Lanes<double>::integer(value);
}

void BoundParameters::set(const std::string& variable, std::vector<int64_t> values) {
  environment_.variables[variable] = Lanes<double>{false, {}, std::move(values)};
}

std::vector<int64_t> BoundParameters::integers(const Expr& e, size_t lanes) {
  environment_.lanes = lanes;
  std::vector<int64_t> result = evaluate(e, environment_).integers;
  if (result.size() == 1) result.resize(lanes, result[0]);
  return result;
}

std::vector<double> BoundParameters::reals(const Expr& e, size_t lanes) {
  environment_.lanes = lanes;
  std::vector<double> result = evaluate(e, environment_).reals;
  if (result.size() == 1) result.resize(lanes, result[0]);
  return result;
}

}  // namespace fovea
