// SPDX-License-Identifier: Apache-2.0
#include "table_entries.h"

#include <fovea/dsl/reference.h>

#include <algorithm>
#include <stdexcept>

namespace fovea::test {
namespace {

int64_t offset_of(const fovea_table& table, const std::vector<int64_t>& indices) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    offset += std::clamp<int64_t>(indices[axis], 0, table.extent[axis] - 1) * table.stride[axis];
  }
  return offset;
}

}  // namespace

double table_entry(const Parameter& parameter, const fovea_table& table,
                   const std::vector<int64_t>& indices) {
  const int64_t offset = offset_of(table, indices);
  if (parameter.type.is_float()) return static_cast<const float*>(table.data)[offset];
  if (parameter.type.bits() == 8) return static_cast<const uint8_t*>(table.data)[offset];
  return static_cast<const int32_t*>(table.data)[offset];
}

StoredElement float_entry(const Parameter& parameter, const fovea_table& table,
                          const std::vector<int64_t>& indices) {
  if (!parameter.type.is_float()) throw std::logic_error(parameter.name + " holds no floats");
  auto* first = const_cast<float*>(static_cast<const float*>(table.data));
  return {first + offset_of(table, indices), FOVEA_F32};
}

void rearrange_tables(const Problem& from, Problem& to, const SourceIndex& source,
                      const NewExtent& extent) {
  const Variant& variant = from.kernel().declaration();
  const ParameterValues values = parameter_values(variant, from.params.data());
  for (const auto& parameter : variant.parameters()) {
    if (parameter->kind != Parameter::Kind::Table) continue;
    const fovea_table& table = values.at(parameter->name).table;
    const size_t rank = parameter->axes.size();
    std::vector<int64_t> extents;
    size_t count = 1;
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t old = table.extent[axis];
      extents.push_back(extent ? extent(parameter->axes[axis].kind, old) : old);
      count *= static_cast<size_t>(extents.back());
    }
    std::vector<double> entries;
    std::vector<int64_t> index(rank, 0), old(rank);
    for (size_t i = 0; i < count; ++i) {
      for (size_t axis = 0; axis < rank; ++axis) {
        old[axis] = source(parameter->axes[axis].kind, index[axis]);
      }
      entries.push_back(table_entry(*parameter, table, old));
      for (size_t axis = rank; axis-- > 0;) {
        if (++index[axis] < extents[axis]) break;
        index[axis] = 0;
      }
    }
    to.params.set_table(parameter->name, extents, entries);
  }
}

}  // namespace fovea::test
