// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include <cstdio>

namespace context_parallel {
namespace {

// later = earlier and later, rows of two ranks or groups of ranks. Nobody could be told of an error
// in here by a return value.
void combine(void* earlier, void* later, int* count, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const std::int64_t numbers = bytes / static_cast<int>(sizeof(float));
  const std::int64_t rows = numbers / Part::numbers(1);
  for (int i = 0; i < *count; ++i) {
    const fovea_partial parts[] = {view(static_cast<float*>(earlier) + i * numbers, rows),
                                   view(static_cast<float*>(later) + i * numbers, rows)};
    const fovea::Status status = fovea::merge(parts, parts[1]);
    if (status.ok()) continue;
    std::fprintf(stderr, "merge: %s\n", status.message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

}  // namespace

Span shard_of(std::int64_t length, int ranks, int rank) {
  const std::int64_t first = length * rank / ranks;
  return {first, length * (rank + 1) / ranks - first};
}

Cache cache_of(const std::string& text, const Span& span) {
  return {span, keys_and_values(text, span)};
}

Part decode(Processes& processes, Variant variant, const std::vector<float>& q, const Span& rows,
            const Cache& cache, int threads) {
  const Part part = attend(variant, q, rows, cache.keys(), threads);
  Part whole = part;
  processes.reduce(part.data, &whole.data, combine, "merging the parts of a decode step");
  return whole;
}

}  // namespace context_parallel
