// bank_quant_kv_test.cpp: scales of quantised caches.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/kernels/bank/bank.h"
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test::bank {
namespace {

std::vector<TestKernel> int8_kernels() {
  return calling_kernels([](const TestKernel& k) {
    return k.info().cache == FOVEA_CACHE_I8 && k.variant_name() == "causal";
  });
}
FOVEA_BANK(QuantInt8, int8_kernels());
FOVEA_BANK(QuantAny, calling_kernels([](const TestKernel& k) {
             return is_quantised(k) && k.variant_name() == "causal";
           }));

// https://github.com/sgl-project/sglang/pull/20705
TEST_P(QuantInt8, Row160ScalesOfKeysAndValuesAreTheirOwn) {
  CallSetup setup = setup_of(1, 3);
  setup.kv_len = {3};
  CacheSetup cache;
  cache.slots = 3;
  Random random("row 160", 0);
  // Scales come out as 0.5 for keys and 2 for values: numbers up to 63.5 and 254.
  Problem problem(GetParam(), setup);
  problem.fill_q(first_feature(1));
  problem.fill_k([](int64_t, int64_t, int64_t row, int64_t d) {
    return d == 1 ? 63.5 : d == 0 ? static_cast<double>(row) * 0.5 : 0.0;
  });
  problem.fill_v([](int64_t, int64_t, int64_t row, int64_t d) {
    return d == 1 ? 254.0 : static_cast<double>(2 * row);
  });
  CacheMemory memory(GetParam(), 1, 1, cache, {3}, random);
  ASSERT_EQ(memory.append(problem, {0}, {3}), FOVEA_OK) << fovea_last_message();
  ASSERT_EQ(memory.key_scale(0, 0, 2, 0), 0.5);
  ASSERT_EQ(memory.value_scale(0, 0, 2, 0), 2);
  const Expected expected = expected_results(problem);
  memory.attach(problem.call);
  EXPECT_EQ(compare(problem.checked_run(), expected), "");
}

// https://github.com/InfiniTensor/InfiniLM/pull/553: a scale that nobody gave is an error
TEST_P(QuantInt8, Row161NoScaleIsRefused) {
  for (fovea_tensor fovea_cache::* scale : {&fovea_cache::k_scale, &fovea_cache::v_scale}) {
    CallSetup setup = setup_of(1, 3);
    setup.kv_len = {3};
    CacheSetup cache;
    cache.slots = 3;
    Random random("row 161", 0);
    Problem problem(GetParam(), setup);
    CacheMemory memory(GetParam(), 1, 1, cache, {3}, random);
    memory.attach(problem.call);
    (memory.cache.*scale).data = nullptr;
    expect_refused(problem, FOVEA_INVALID_ARGUMENT,
                   scale == &fovea_cache::k_scale ? "cache.k_scale" : "cache.v_scale");
  }
}

// https://github.com/ikawrakow/ik_llama.cpp/pull/76
TEST_P(QuantAny, Row163HeadsOfVeryDifferentSize) {
  const auto sized = [](double big) {
    return [big](int64_t, int64_t h, int64_t row, int64_t d) {
      return std::sin(static_cast<double>(7 * row + 3 * d + 1)) * (h == 1 ? big : 1.0);
    };
  };
  std::vector<float> first;
  for (const double big : {1.0, 30000.0}) {
    CallSetup setup = setup_of(1, 40, 2, 2);
    setup.kv_len = {40};
    CacheSetup cache;
    cache.slots = 40;
    cache.page_size = 8;
    const bool must = cache_dtype(GetParam()) == FOVEA_I8 || cache_dtype(GetParam()) == FOVEA_I4;
    cache.has_scales = must;
    Random random("row 163", 0);
    Problem problem(GetParam(), setup);
    problem.fill_q(sized(1));
    problem.fill_k(sized(1));
    problem.fill_v(sized(must ? big : std::min(big, 100.0)));
    CacheMemory memory(GetParam(), 1, 2, cache, {40}, random);
    ASSERT_EQ(memory.append(problem, {0}, {40}), FOVEA_OK) << fovea_last_message();
    memory.attach(problem.call);
    const Results got = problem.checked_run();
    std::vector<float> head;
    for (int64_t d = 0; d < GetParam().info().d_v; ++d) head.push_back(got.at(0, 0, 0, d));
    if (first.empty()) first = head;
    EXPECT_EQ(std::memcmp(first.data(), head.data(), head.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace fovea::test::bank
