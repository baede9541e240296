// call_test.cpp: calls with caches against the reference over what the caches hold.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test {
namespace {

int calls_of(const TestKernel& kernel) { return kernel.info().cache == FOVEA_CACHE_SAME ? 8 : 12; }

// Pages of any size in any order, lengths, layouts and offsets as without caches. Keys that were
// transformed as they were appended are not again.
class CachedCalls : public KernelTest {};
FOVEA_FOR_KERNELS(CachedCalls, calling_kernels([](const TestKernel& k) {
                    return !transforms_rows(k) || k.info().cache == FOVEA_CACHE_SAME;
                  }));

TEST_P(CachedCalls, KeepTheRule) {
  for (int i = 0; i < calls_of(GetParam()) && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i));
    CacheSetup cache;
    const CallSetup setup = cached_setup(GetParam(), random, &cache);
    CachedCall call(GetParam(), setup, cache, random);
    EXPECT_EQ(compare(call.checked_run(), call.expected()), "") << call.text();
    count_case();
  }
}

// Blocks that are seen whole read the scales of neighbouring slots at once, if nothing lies between
// them. No append makes negative ones, but whoever fills a cache may.
class QuantisedScales : public KernelTest {};
FOVEA_FOR_KERNELS(QuantisedScales, calling_kernels([](const TestKernel& k) {
                    return !transforms_rows(k) && is_quantised(k);
                  }));

TEST_P(QuantisedScales, LieSideBySideWithAnySign) {
  for (const int64_t page_size : {0, 8, 16, 64}) {
    Random random(GetParam().info().name, 300 + static_cast<uint64_t>(page_size));
    CacheSetup cache;
    CallSetup setup = cached_setup(GetParam(), random, &cache);
    setup.kv_rows = cache.slots = 640;
    setup.kv_len.assign(static_cast<size_t>(setup.batch), 640);
    setup.kv_len[0] = 601;
    setup.q_offset.clear();
    cache.page_size = page_size;
    cache.groups = 1;
    cache.has_scales = cache.packed_scales = true;
    CachedCall call(GetParam(), setup, cache, random);
    for (int64_t b = 0; b < setup.batch; ++b) {
      for (int64_t h = 0; h < setup.kv_heads; ++h) {
        for (int64_t key = 0; key < setup.kv_len_of(b); ++key) {
          CacheMemory& memory = call.memory;
          if (key % 3 == h % 3)
            memory.set_value_scale(b, h, key, -memory.value_scale(b, h, key, 0));
          if (key % 5 == h % 5) memory.set_key_scale(b, h, key, -memory.key_scale(b, h, key, 0));
        }
      }
    }
    EXPECT_EQ(compare(call.checked_run(), call.expected()), "") << call.text();
    count_case();
  }
}

// A cache of transformed keys in few bits gives what one of f32 gives that holds the same numbers.
class QuantisedTransforms : public KernelTest {};
FOVEA_FOR_KERNELS(QuantisedTransforms, calling_kernels([](const TestKernel& k) {
                    return transforms_rows(k) && is_quantised(k) && k.dtype() == FOVEA_F32;
                  }));

TestKernel same_kernel_as(const TestKernel& kernel) {
  const auto found = calling_kernels([&](const TestKernel& k) {
    return k.library == kernel.library && k.info().variant == kernel.info().variant &&
           k.info().pass == kernel.info().pass && k.info().target == kernel.info().target &&
           k.info().cache == FOVEA_CACHE_SAME;
  });
  return found.at(0);
}

TEST_P(QuantisedTransforms, AreThoseOfTheNumbersTheyHold) {
  for (uint64_t i = 0; i < 6 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, 100 + i);
    CacheSetup cache;
    const CallSetup setup = cached_setup(GetParam(), random, &cache);
    CachedCall few_bits(GetParam(), setup, cache, random);
    const Results got = few_bits.checked_run();

    CacheMemory memory(same_kernel_as(GetParam()), setup.batch, setup.kv_heads, cache,
                       used_slots(setup, cache), random);
    for (int64_t b = 0; b < setup.batch; ++b) {
      for (int64_t h = 0; h < setup.kv_heads; ++h) {
        for (int64_t key = 0; key < setup.kv_len_of(b); ++key) {
          for (int64_t d = 0; d < GetParam().info().d_qk; ++d)
            memory.set_key(b, h, key, d, few_bits.memory.key(b, h, key, d));
          for (int64_t d = 0; d < GetParam().info().d_v; ++d)
            memory.set_value(b, h, key, d, few_bits.memory.value(b, h, key, d));
        }
      }
    }
    memory.attach(few_bits.problem.call);
    few_bits.problem.call.workspace = nullptr;
    const Results wanted = few_bits.checked_run();
    ASSERT_EQ(got.out.size(), wanted.out.size());
    for (size_t at = 0; at < got.out.size(); ++at) {
      if (std::isnan(got.out[at]) && std::isnan(wanted.out[at])) continue;
      ASSERT_NEAR(got.out[at], wanted.out[at], 2e-5) << few_bits.text();
    }
    count_case();
  }
}

// The numbers themselves: a step from one to the next is the scale, and no number is off by more
// than half a step. Transforms are compared with those of a cache of f32.
class QuantisedNumbers : public KernelTest {};
FOVEA_FOR_KERNELS(QuantisedNumbers, kernels_where([](const TestKernel& k) {
                    return k.info().pass == FOVEA_DECODE && is_quantised(k) &&
                           k.dtype() == FOVEA_F32;
                  }));

// Of a number divided by its scale, half the distance of its neighbours.
double half_step(fovea_dtype dtype, double divided) {
  switch (dtype) {
    case FOVEA_I8:
    case FOVEA_I4:
      return 0.5;
    case FOVEA_E4M3:
      return std::ldexp(1.0, std::max(std::ilogb(std::max(divided, 1e-30)), -6) - 4);
    default:
      return std::ldexp(1.0, std::max(std::ilogb(std::max(divided, 1e-30)), -14) - 3);
  }
}

TEST_P(QuantisedNumbers, AreTheNearest) {
  for (uint64_t i = 0; i < 3 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, 200 + i);
    CacheSetup setup_of_cache;
    const CallSetup setup = cached_setup(GetParam(), random, &setup_of_cache);
    CachedCall call(GetParam(), setup, setup_of_cache, random);
    CacheMemory exact(same_kernel_as(GetParam()), setup.batch, setup.kv_heads, setup_of_cache,
                      used_slots(setup, setup_of_cache), random);
    ASSERT_EQ(
        exact.append(call.problem, std::vector<int32_t>(setup.kv_len.size(), 0), setup.kv_len),
        FOVEA_OK)
        << fovea_last_message();
    for (int64_t b = 0; b < setup.batch; ++b) {
      for (int64_t h = 0; h < setup.kv_heads; ++h) {
        for (int64_t key = 0; key < setup.kv_len_of(b); ++key) {
          for (int64_t d = 0; d < GetParam().info().d_qk; ++d) {
            const double wanted = exact.key(b, h, key, d);
            const double scale = call.memory.key_scale(b, h, key, d);
            ASSERT_LE(
                std::abs(call.memory.key(b, h, key, d) - wanted),
                scale * half_step(cache_dtype(GetParam()), std::abs(wanted) / scale) * (1 + 1e-6))
                << "key " << key << " d " << d << " is " << call.memory.key(b, h, key, d)
                << ", was " << wanted << ", scale " << scale << "\n"
                << call.text();
          }
        }
      }
    }
    count_case();
  }
}

}  // namespace
}  // namespace fovea::test
