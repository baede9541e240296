// table_entries.h: tables of a variant, looked into and rearranged.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_TABLE_ENTRIES_H
#define FOVEA_TESTS_SUPPORT_TABLE_ENTRIES_H

#include <fovea/dsl/variant.h>

#include <functional>
#include <vector>

#include "problem.h"

namespace fovea::test {

// The entry of a table at indices that are clamped into its extents.
double table_entry(const Parameter& parameter, const fovea_table& table,
                   const std::vector<int64_t>& indices);

// A writable place of a table that holds floats.
StoredElement float_entry(const Parameter& parameter, const fovea_table& table,
                          const std::vector<int64_t>& indices);

// Gives `to` the tables of `from`, rearranged: entry i along an axis is the one at source(axis, i)
// of the old table (clamped), and the axis has `extent(axis, old extent)` of them.
using SourceIndex = std::function<int64_t(Axis::Kind, int64_t)>;
using NewExtent = std::function<int64_t(Axis::Kind, int64_t)>;
void rearrange_tables(const Problem& from, Problem& to, const SourceIndex& source,
                      const NewExtent& extent = nullptr);

}  // namespace fovea::test

#endif
