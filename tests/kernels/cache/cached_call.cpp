// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cache/cached_call.h"

#include <fovea/dsl/variant.h>

#include <algorithm>

namespace fovea::test {

std::vector<TestKernel> calling_kernels(const std::function<bool(const TestKernel&)>& wanted) {
  return kernels_where([&](const TestKernel& k) {
    return k.info().pass != FOVEA_APPEND && k.info().cache != FOVEA_CACHE_NONE && wanted(k);
  });
}
std::vector<TestKernel> calling_kernels() {
  return calling_kernels([](const TestKernel&) { return true; });
}

bool transforms_rows(const TestKernel& kernel) {
  const Variant& v = kernel.declaration();
  return !v.key_steps().empty() || !v.value_steps().empty();
}

std::vector<int64_t> used_slots(const CallSetup& setup, const CacheSetup& cache) {
  std::vector<int64_t> used;
  for (int64_t b = 0; b < setup.batch; ++b) {
    const int64_t keys = setup.kv_len_of(b);
    used.push_back(cache.ring_window > 0
                       ? std::min<int64_t>(keys, cache.ring_sinks + cache.ring_window)
                       : keys);
  }
  return used;
}

CallSetup cached_setup(const TestKernel& kernel, Random& random, CacheSetup* cache) {
  CallSetup s = random_setup(kernel, random, 400000);
  s.packed = s.unreadable_tail = false;
  cache->page_size = random.pick<int64_t>({0, 1, 2, 16, 64, 256});
  if (cache->page_size > 0)
    s.kv_rows = (s.kv_rows + cache->page_size - 1) / cache->page_size * cache->page_size;
  cache->slots = s.kv_rows;
  cache->rows_outside = random.chance(0.5);
  if (s.kv_len.empty()) s.kv_len.assign(static_cast<size_t>(s.batch), int32_t(s.kv_rows));
  if (!is_quantised(kernel)) return s;
  const int64_t d_qk = kernel.info().d_qk, d_v = kernel.info().d_v;
  if (d_qk == d_v && d_qk % 32 == 0)
    cache->groups = random.pick<int64_t>({1, d_qk / 32, d_qk / 16});
  const bool must = cache_dtype(kernel) == FOVEA_I8 || cache_dtype(kernel) == FOVEA_I4;
  cache->has_scales = must || random.chance(0.5);
  if (!cache->has_scales) cache->groups = 1;
  cache->packed_scales = random.chance(0.5);
  return s;
}

namespace {

CallSetup without_workspace(CallSetup setup) {
  setup.workspace = Workspace::None;
  return setup;
}

}  // namespace

CachedCall::CachedCall(const TestKernel& kernel, const CallSetup& setup, const CacheSetup& cache,
                       Random& random)
    : cache_setup(cache),
      problem(kernel, without_workspace(setup), random),
      memory(kernel, setup.batch, setup.kv_heads, cache, used_slots(setup, cache), random) {
  dense = problem.call;
  // All prompts, then what came later in one or two steps.
  std::vector<int32_t> from(static_cast<size_t>(setup.batch), 0);
  for (int step = 0; step < 3; ++step) {
    std::vector<int32_t> to = setup.kv_len;
    for (size_t b = 0; b < to.size(); ++b) {
      if (step < 2) to[b] = static_cast<int32_t>(random.integer(from[b], setup.kv_len[b]));
    }
    EXPECT_EQ(memory.append(problem, from, to), FOVEA_OK) << fovea_last_message() << text();
    from = to;
  }
  EXPECT_TRUE(memory.untouched_outside()) << text();
  memory.attach(problem.call);
  if (setup.workspace == Workspace::Exact) {
    const size_t size =
        fovea_variant_workspace(kernel.library, kernel.info().variant, &problem.call);
    workspace_ = std::make_shared<GuardedMemory>(size, Edge::End);
    problem.call.workspace = workspace_->data();
    problem.call.workspace_size = size;
  }
}

Expected CachedCall::expected() const {
  if (transforms_rows(problem.kernel())) return expected_results(problem, dense);
  const CallSetup& s = problem.setup();
  const int64_t d_qk = problem.kernel().info().d_qk, d_v = problem.kernel().info().d_v;
  const StridedTensor k(FOVEA_F32, {s.batch, s.kv_heads, s.kv_rows, d_qk}, {}),
      v(FOVEA_F32, {s.batch, s.kv_heads, s.kv_rows, d_v}, {});
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.kv_heads; ++h) {
      for (int64_t key = 0; key < s.kv_len_of(b); ++key) {
        for (int64_t d = 0; d < d_qk; ++d)
          k.at(b, h, key, d) = static_cast<float>(memory.key(b, h, key, d));
        for (int64_t d = 0; d < d_v; ++d)
          v.at(b, h, key, d) = static_cast<float>(memory.value(b, h, key, d));
      }
    }
  }
  fovea_call call = dense;
  call.k = k.view();
  call.v = v.view();
  return expected_results(problem, call);
}

}  // namespace fovea::test
