// SPDX-License-Identifier: Apache-2.0
#include "sequences.h"

namespace fovea::detail {
namespace {

constexpr int kBuckets = 64;  // of one pass

// By the logarithm of the products to compute, the largest first; a sequence without keys counts as
// one with a single key.
int bucket_of(const Problem& problem, int64_t b) {
  const auto products = static_cast<unsigned long long>(rows_of(problem, b)) *
                        (static_cast<unsigned long long>(keys_of(problem, b)) + 1);
  return (pass_of(problem, b) == FOVEA_PREFILL ? 0 : kBuckets) + __builtin_clzll(products);
}

}  // namespace

SequencesOfPasses order_sequences(const Problem& problem, int32_t* order) {
  int64_t next[2 * kBuckets] = {};  // first how many a bucket has, then where its next one goes
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (rows_of(problem, b) > 0) ++next[bucket_of(problem, b)];
  }
  int64_t sum = 0;
  int64_t in_prefill = 0;
  for (int i = 0; i < 2 * kBuckets; ++i) {
    if (i == kBuckets) in_prefill = sum;
    const int64_t count = next[i];
    next[i] = sum;
    sum += count;
  }
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (rows_of(problem, b) > 0) order[next[bucket_of(problem, b)]++] = static_cast<int32_t>(b);
  }
  return {{order, in_prefill}, {order + in_prefill, sum - in_prefill}};
}

SequencesOfPasses all_sequences(const Problem& problem, fovea_pass pass) {
  const int64_t in_prefill = pass == FOVEA_PREFILL ? problem.batch : 0;
  return {{nullptr, in_prefill}, {nullptr, problem.batch - in_prefill}};
}

}  // namespace fovea::detail
