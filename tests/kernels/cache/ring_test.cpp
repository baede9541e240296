// ring_test.cpp: rings give up old keys and keep the positions of the others.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test {
namespace {

// A ring larger than the variant's window loses nothing that a query sees.
class RingWindow : public KernelTest {};
FOVEA_FOR_KERNELS(RingWindow, calling_kernels([](const TestKernel& k) {
                    return k.variant_name() == "causal_window";
                  }));

TEST_P(RingWindow, LosesNothingThatIsSeen) {
  for (uint64_t i = 0; i < 10 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, 300 + i);
    CacheSetup cache;
    CallSetup setup = cached_setup(GetParam(), random, &cache);
    setup.q_offset.clear();
    const auto window = random.integer(1, 40);
    // A prompt in chunks: every chunk is appended before its own queries ask.
    if (setup.q_len.empty())
      setup.q_len.assign(setup.kv_len.size(), static_cast<int32_t>(setup.q_rows));
    const int64_t ring = window + setup.q_rows - 1 + random.integer(0, 3);
    cache.ring_sinks = static_cast<int32_t>(random.pick<int64_t>({0, 0, 4, 5}));
    cache.ring_window = static_cast<int32_t>(ring);
    cache.slots = cache.ring_sinks + ring;
    if (cache.page_size > 0)
      cache.slots = (cache.slots + cache.page_size - 1) / cache.page_size * cache.page_size;
    CachedCall call(GetParam(), setup, cache, random);
    call.problem.params.set("window", static_cast<double>(window));
    EXPECT_EQ(compare(call.checked_run(), call.expected()), "") << call.text();
    count_case();
  }
}

// Without a window of its own, a variant sees the sinks and what the ring still has.
class RingMeans : public KernelTest {};
FOVEA_FOR_KERNELS(RingMeans, calling_kernels([](const TestKernel& k) {
                    return k.info().cache == FOVEA_CACHE_SAME && k.dtype() == FOVEA_F32 &&
                           (k.variant_name() == "full" || k.variant_name() == "causal");
                  }));

TEST_P(RingMeans, AreThoseOfWhatIsLeft) {
  const bool causal = GetParam().variant_name() == "causal";
  for (const int64_t keys : {1, 4, 7, 8, 9, 20, 133, 300, 1000}) {
    for (const int32_t window : {4, 130, 257}) {
      for (const int32_t sinks : {0, 3}) {
        Random random(GetParam().info().name, static_cast<uint64_t>(keys));
        CacheSetup cache;
        cache.ring_sinks = sinks;
        cache.ring_window = window;
        cache.slots = sinks + window;
        if (keys % 2 == 0) {
          cache.page_size = 4;
          cache.slots = (cache.slots + 3) / 4 * 4;
        }
        CallSetup setup = plain_setup(std::min<int64_t>(keys, 3), keys);
        setup.wants_lse = false;
        setup.kv_len = {static_cast<int32_t>(keys)};
        // Numbers that f32 and f16 hold, and sums of them.
        Problem source(GetParam(), setup);
        source.fill_v([](int64_t, int64_t, int64_t key, int64_t) { return double(key % 61); });
        CacheMemory memory(GetParam(), 1, 1, cache, used_slots(setup, cache), random);
        for (int32_t from = 0; from < keys; from += 5) {
          const auto to = std::min<int32_t>(from + 5, static_cast<int32_t>(keys));
          ASSERT_EQ(memory.append(source, {from}, {to}), FOVEA_OK) << fovea_last_message();
        }
        memory.attach(source.call);
        const Results got = source.checked_run();
        for (int64_t row = 0; row < setup.q_rows; ++row) {
          double sum = 0, count = 0;
          for (int64_t key = 0; key < keys; ++key) {
            const bool kept = key < sinks || key >= keys - window;
            const bool seen = !causal || key <= keys - setup.q_rows + row;
            if (!kept || !seen) continue;
            sum += static_cast<double>(key % 61);
            ++count;
          }
          ASSERT_NEAR(got.at(0, 0, row), sum / count, 1e-5 * sum / count + 1e-30)
              << "keys " << keys << " window " << window << " sinks " << sinks << " row " << row;
        }
        count_case();
      }
    }
  }
}

}  // namespace
}  // namespace fovea::test
