// A few rows over a cache whose shards lie with the ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attention.h"
#include "processes.h"

namespace context_parallel {

// The keys of a rank: the cache cut into runs of equal length, up to one key.
Span shard_of(std::int64_t length, int ranks, int rank);

// What a rank keeps between steps.
struct Cache {
  Span span;
  std::vector<float> data;
  Keys keys() const { return {span, data.data()}; }
};
Cache cache_of(const std::string& text, const Span& span);

// The result is complete at rank 0, in the place of its own part elsewhere.
Part decode(Processes& processes, Variant variant, const std::vector<float>& q, const Span& rows,
            const Cache& cache, int threads);

}  // namespace context_parallel
