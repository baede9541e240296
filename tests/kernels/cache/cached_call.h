// cached_call.h: a call whose keys and values have been appended to a cache.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_KERNELS_CACHE_CACHED_CALL_H
#define FOVEA_TESTS_KERNELS_CACHE_CACHED_CALL_H

#include <memory>
#include <string>
#include <vector>

#include "tests/support/cache_memory.h"
#include "tests/support/comparison.h"

namespace fovea::test {

// The kernels of calls that read caches.
std::vector<TestKernel> calling_kernels(const std::function<bool(const TestKernel&)>& wanted);
std::vector<TestKernel> calling_kernels();

bool transforms_rows(const TestKernel& kernel);

// Lengths for a cache: kv_rows is what it can hold, kv_len is always there.
CallSetup cached_setup(const TestKernel& kernel, Random& random, CacheSetup* cache);

class CachedCall {
 public:
  // Random numbers, appended in a few steps; kv_len of the setup is what the cache holds in the
  // end.
  CachedCall(const TestKernel& kernel, const CallSetup& setup, const CacheSetup& cache,
             Random& random);

  Results checked_run() { return problem.checked_run(); }
  // Over what the cache holds, or of kernels whose keys have been transformed on the way over what
  // was appended. Not for quantised caches of transformed keys.
  Expected expected() const;
  std::string text() const { return problem.text() + "\n" + cache_setup.text(); }

  CacheSetup cache_setup;
  Problem problem;
  CacheMemory memory;
  fovea_call dense;  // of the tokens as they were before they were appended

 private:
  std::shared_ptr<GuardedMemory> workspace_;
};

// The slots that each sequence uses.
std::vector<int64_t> used_slots(const CallSetup& setup, const CacheSetup& cache);

}  // namespace fovea::test

#endif
