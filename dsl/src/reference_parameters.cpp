// reference_parameters.cpp: parameter values out of C structures.
// SPDX-License-Identifier: Apache-2.0
#include "reference_parameters.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace fovea {
namespace detail {
namespace {

double table_entry(const fovea_table& table, Halide::Type type,
                   const std::vector<int64_t>& indices) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    offset += std::clamp<int64_t>(indices[axis], 0, table.extent[axis] - 1) * table.stride[axis];
  }
  if (type.is_float()) return static_cast<double>(static_cast<const float*>(table.data)[offset]);
  if (type.bits() == 8) return static_cast<const uint8_t*>(table.data)[offset];
  // Kernels clamp integers, so that nothing computed from them wraps.
  return std::clamp(static_cast<const int32_t*>(table.data)[offset], -largest_integer,
                    largest_integer);
}

void check_table(const Parameter& parameter, const fovea_table& table) {
  for (size_t axis = 0; axis < parameter.axes.size(); ++axis) {
    if (table.data == nullptr || table.extent[axis] < 1) {
      throw std::invalid_argument("fovea: table '" + parameter.name + "' has no entries");
    }
  }
}

}  // namespace

template <typename Real>
Environment<Real> bind_parameters(const Variant& variant, const ParameterValues& values) {
  Environment<Real> environment;
  std::map<std::string, std::pair<Halide::Type, const fovea_table*>> tables;
  for (const auto& parameter : variant.parameters()) {
    const auto found = values.find(parameter->name);
    if (found == values.end()) {
      throw std::invalid_argument("fovea: parameter '" + parameter->name + "' of variant '" +
                                  variant.name() + "' has no value");
    }
    if (parameter->kind == Parameter::Kind::Table) {
      check_table(*parameter, found->second.table);
      tables[parameter->name] = {parameter->type, &found->second.table};
    } else if (parameter->type.is_float()) {
      environment.variables[parameter->name] =
          Lanes<Real>::real(static_cast<Real>(found->second.scalar));
    } else {
      environment.variables[parameter->name] =
          Lanes<Real>::integer(static_cast<int64_t>(found->second.scalar));
    }
  }
  environment.extent = [tables](const std::string& name, int64_t axis) {
    return tables.at(name).second->extent[axis];
  };
  environment.table = [tables = std::move(tables)](const std::string& name,
                                                   const std::vector<int64_t>& indices) {
    const auto& [type, table] = tables.at(name);
    return table_entry(*table, type, indices);
  };
  return environment;
}

template Environment<double> bind_parameters(const Variant&, const ParameterValues&);
template Environment<float> bind_parameters(const Variant&, const ParameterValues&);

}  // namespace detail

namespace {

template <typename T>
T read_field(const char* params, size_t& offset) {
  offset = (offset + alignof(T) - 1) / alignof(T) * alignof(T);
  T value{};
  std::memcpy(&value, params + offset, sizeof(T));
  offset += sizeof(T);
  return value;
}

}  // namespace

Environment<double> parameter_environment(const Variant& variant, const ParameterValues& values) {
  return detail::bind_parameters<double>(variant, values);
}

ParameterValues parameter_values(const Variant& variant, const void* params) {
  ParameterValues values;
  if (params == nullptr && !variant.parameters().empty()) {
    throw std::invalid_argument("fovea: variant '" + variant.name() +
                                "' has parameters, and params is NULL");
  }
  size_t offset = 0;
  for (const auto& parameter : variant.parameters()) {
    const auto* bytes = static_cast<const char*>(params);
    ParameterValue& value = values[parameter->name];
    if (parameter->kind == Parameter::Kind::Table) {
      value.table = read_field<fovea_table>(bytes, offset);
    } else if (parameter->type.is_float()) {
      value.scalar = read_field<float>(bytes, offset);
    } else {
      value.scalar = read_field<int32_t>(bytes, offset);
    }
  }
  return values;
}

}  // namespace fovea
