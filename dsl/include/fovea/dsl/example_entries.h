// example_entries.h: typical entries of tables, for v.table(…).example(…).
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_EXAMPLE_ENTRIES_H
#define FOVEA_DSL_EXAMPLE_ENTRIES_H

#include <fovea/dsl/parameter.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace fovea::example {

using Entry = std::function<double(const ExampleShape&, const std::vector<int64_t>& index)>;

Entry constant(double value);
// Between low and high, the same for the same index.
Entry scattered(double low, double high);
Entry alibi_slope();  // of a table over heads
// Document of a position when a sequence is packed from `count` documents of about equal length,
// and the first position of that document. The last index is the position.
Entry document(int64_t count);
Entry document_start(int64_t count);
// Lengths from 3/4 of kv_len up to all of it; the index is the batch.
Entry length();

}  // namespace fovea::example

#endif
