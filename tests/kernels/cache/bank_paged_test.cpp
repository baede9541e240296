// bank_paged_test.cpp: pages in any order, and nothing but the used slots.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"
#include "tests/kernels/bank/reserved.h"
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test::bank {
namespace {

std::vector<TestKernel> same_kernels(std::initializer_list<const char*> variants) {
  return calling_kernels([&](const TestKernel& k) {
    return k.info().cache == FOVEA_CACHE_SAME &&
           std::find(variants.begin(), variants.end(), k.variant_name()) != variants.end();
  });
}

FOVEA_BANK(PagedFull, same_kernels({"full"}));
FOVEA_BANK(PagedCausal, same_kernels({"causal"}));
FOVEA_BANK(PagedWindow, same_kernels({"causal_window"}));

CacheSetup pages(int64_t size, int64_t slots) {
  CacheSetup cache;
  cache.page_size = size;
  cache.slots = (slots + size - 1) / size * size;
  return cache;
}

// Uniform weights over what has been appended; the output is the mean of the key numbers.
void expect_mean(const TestKernel& kernel, const CallSetup& setup, const CacheSetup& cache,
                 const std::vector<double>& expected) {
  Random random(kernel.info().name, 1);
  CallSetup lengths = setup;
  lengths.kv_rows = cache.slots;
  Problem problem(kernel, lengths);
  problem.fill_v(key_number);
  CacheMemory memory(kernel, setup.batch, setup.kv_heads, cache, used_slots(lengths, cache),
                     random);
  ASSERT_EQ(memory.append(problem, std::vector<int32_t>(setup.kv_len.size(), 0), setup.kv_len),
            FOVEA_OK)
      << fovea_last_message();
  memory.attach(problem.call);
  expect_rows(problem, problem.checked_run(), expected);
}

// https://github.com/flashinfer-ai/flashinfer/issues/3716
TEST_P(PagedFull, Row85PaddingCountsNothing) {
  for (const int64_t keys : {5, 127, 128, 129, 255, 257}) {
    CallSetup setup = setup_of(1, keys);
    setup.kv_len = {static_cast<int32_t>(keys)};
    expect_mean(GetParam(), setup, pages(16, keys), {static_cast<double>(keys + 1) / 2});
  }
}

// https://github.com/vllm-project/vllm/issues/42494
TEST_P(PagedFull, Row152StaleEntriesAreNotLookedAt) {
  CallSetup setup = setup_of(1, 16);
  setup.kv_len = {5};
  setup.kv_rows = 16;
  Random random("row 152", 0);
  Problem problem(GetParam(), setup);
  problem.fill_v(key_number);
  CacheMemory memory(GetParam(), 1, 1, pages(4, 16), {16}, random);
  int32_t* table = memory.table(0);
  const int32_t entries[] = {3, 1, 2147483647, -7};
  std::copy(std::begin(entries), std::end(entries), table);
  ASSERT_EQ(memory.append(problem, {0}, {5}), FOVEA_OK) << fovea_last_message();
  memory.attach(problem.call);
  expect_rows(problem, problem.checked_run(), {3});
}

// https://github.com/flashinfer-ai/flashinfer/issues/725
TEST_P(PagedFull, Row154SequencesShorterThanAPage) {
  CallSetup setup = setup_of(1, 2);
  setup.batch = 2;
  setup.kv_len = {1, 1};
  expect_mean(GetParam(), setup, pages(2, 2), {1});
}

// https://github.com/flashinfer-ai/flashinfer/issues/600
TEST_P(PagedFull, Row155TwoRequestsOf512) {
  CallSetup setup = setup_of(1, 512, 64, 8);
  setup.batch = 2;
  setup.kv_len = {512, 512};
  expect_mean(GetParam(), setup, pages(32, 512), {256.5});
}

// https://github.com/huggingface/transformers/pull/45940
TEST_P(PagedFull, Row157UnusedSlotsAreNotSeen) {
  CallSetup setup = setup_of(1, 8);
  setup.kv_len = {3};
  for (const int64_t page : {0, 8, 2}) {
    CacheSetup cache;
    cache.page_size = page;
    cache.slots = 8;
    expect_mean(GetParam(), setup, cache, {2});
  }
}

// https://github.com/MinghuasLab/flash-attention-npu/issues/168
TEST_P(PagedWindow, Row158ALongCacheAndAWindow) {
  Random random("row 158", 0);
  CallSetup setup = setup_of(GetParam().decodes() ? 16 : 20, 20000);
  setup.kv_len = {20000};
  CachedCall call(GetParam(), setup, pages(16, 20000), random);
  call.problem.params.set("window", 256);
  EXPECT_EQ(compare(call.checked_run(), call.expected()), "") << call.text();
}

// https://github.com/openvinotoolkit/openvino/pull/30714
TEST_P(PagedWindow, Row34APromptInPages) {
  CallSetup setup = setup_of(5, 5);
  setup.kv_len = {5};
  Random random("row 34", 0);
  Problem problem(GetParam(), setup);
  problem.params.set("window", 2);
  problem.fill_v(key_number);
  CacheMemory memory(GetParam(), 1, 1, pages(2, 5), {5}, random);
  ASSERT_EQ(memory.append(problem, {0}, {5}), FOVEA_OK) << fovea_last_message();
  memory.attach(problem.call);
  expect_rows(problem, problem.checked_run(), {1, 1.5, 2.5, 3.5, 4.5});
}

// https://github.com/Lightning-AI/litgpt/issues/2182: a prompt longer than the ring asks its own
// keys, the ring keeps the last of them
TEST_P(PagedWindow, Row35APromptLongerThanTheRing) {
  CallSetup setup = setup_of(1, 7);
  setup.kv_len = {7};
  Random random("row 35", 0);
  Problem problem(GetParam(), setup);
  problem.params.set("window", 4);
  problem.fill_v(key_number);
  CacheSetup cache;
  cache.ring_window = 4;
  cache.slots = 4;
  CacheMemory memory(GetParam(), 1, 1, cache, {4}, random);
  ASSERT_EQ(memory.append(problem, {0}, {6}), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(memory.append(problem, {6}, {7}), FOVEA_OK) << fovea_last_message();
  memory.attach(problem.call);
  expect_rows(problem, problem.checked_run(), {5.5});
}

// https://github.com/openvinotoolkit/openvino/pull/24627: vectors wider than what a head leaves
TEST_P(PagedWindow, Row101HeadSizesOfPages) {
  for (const int64_t page : {1, 4, 64}) {
    Random random("row 101", static_cast<uint64_t>(page));
    CallSetup setup = setup_of(3, 70, 4, 2);
    setup.kv_len = {70};
    CachedCall call(GetParam(), setup, pages(page, 70), random);
    EXPECT_EQ(compare(call.checked_run(), call.expected()), "") << call.text();
  }
}

// https://github.com/vllm-project/vllm/issues/50427
TEST_P(PagedCausal, Row109PagesFarBeyond32Bits) {
  constexpr int64_t page = 16, stride = int64_t{1} << 15, number = 65536;
  const Reserved keys(GetParam(), (number + 1) * stride), values(GetParam(), (number + 1) * stride);
  SKIP_WITHOUT(keys);
  SKIP_WITHOUT(values);
  CallSetup setup = setup_of(1, page);
  setup.kv_len = {static_cast<int32_t>(page)};
  Problem problem(GetParam(), setup);
  problem.fill_v(key_number);
  const int32_t table[] = {static_cast<int32_t>(number)};
  fovea_cache cache = {};
  cache.size = sizeof(cache);
  cache.block_table = table;
  cache.block_table_columns = cache.block_table_stride = 1;
  const auto pool = [&](const Reserved& memory, int64_t features) {
    return fovea_tensor{memory.at(0).address(),
                        GetParam().dtype(),
                        {number + 1, 1, page, features},
                        {stride, page * features, features, 1}};
  };
  fovea_append append = {};
  append.size = sizeof(append);
  append.k_new = problem.call.k;
  append.v_new = problem.call.v;
  append.k = problem.call.k = pool(keys, GetParam().info().d_qk);
  append.v = problem.call.v = pool(values, GetParam().info().d_v);
  append.cache = problem.call.cache = &cache;
  ASSERT_EQ(fovea_variant_append(GetParam().library, GetParam().info().variant, &append,
                                 problem.params.data()),
            FOVEA_OK)
      << fovea_last_message();
  expect_rows(problem, problem.checked_run(), {8.5});
  // Page 0 has been left alone.
  for (int64_t i = 0; i < page; ++i) ASSERT_EQ(static_cast<float>(values.at(i * 64)), 0);
}

}  // namespace
}  // namespace fovea::test::bank
