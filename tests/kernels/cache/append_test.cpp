// append_test.cpp: what lands in a cache, and what does not.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/kernels/bank/bank.h"
#include "tests/kernels/cache/cached_call.h"

namespace fovea::test {
namespace {

// One kernel for each append function.
std::vector<TestKernel> appending(const std::function<bool(const TestKernel&)>& wanted) {
  return calling_kernels([&](const TestKernel& k) {
    return k.info().pass == FOVEA_DECODE && k.variant_name() == "causal" && wanted(k);
  });
}

class Appended : public bank::Bank {
 protected:
  // One KV head of one sequence; every token is one number in all its features, but for the first
  // feature, which is another.
  void append(const std::vector<double>& first, const std::vector<double>& others,
              const CacheSetup& cache) {
    const auto tokens = static_cast<int64_t>(first.size());
    setup_ = setup_of(1, tokens);
    setup_.kv_len = {static_cast<int32_t>(tokens)};
    problem_ = std::make_unique<Problem>(GetParam(), setup_);
    const auto number = [&](int64_t, int64_t, int64_t row, int64_t d) {
      const auto i = static_cast<size_t>(row);
      return d == 0 ? first.at(i) : others.at(i);
    };
    problem_->fill_k(number);
    problem_->fill_v(number);
    Random random("append", 0);
    memory_ =
        std::make_unique<CacheMemory>(GetParam(), 1, 1, cache, used_slots(setup_, cache), random);
    ASSERT_EQ(memory_->append(*problem_, {0}, setup_.kv_len), FOVEA_OK) << fovea_last_message();
  }

  CallSetup setup_;
  std::unique_ptr<Problem> problem_;
  std::unique_ptr<CacheMemory> memory_;
};

CacheSetup slots(int64_t count, bool has_scales = true) {
  CacheSetup cache;
  cache.slots = count;
  cache.has_scales = has_scales;
  return cache;
}

class AppendedScales : public Appended {};
FOVEA_FOR_KERNELS(AppendedScales, appending([](const TestKernel& k) { return is_quantised(k); }));

double largest_of(const TestKernel& kernel) {
  switch (cache_dtype(kernel)) {
    case FOVEA_I8:
      return 127;
    case FOVEA_I4:
      return 7;
    case FOVEA_E4M3:
      return 448;
    default:
      return 57344;
  }
}

TEST_P(AppendedScales, NotANumberStaysOne) {
  append({bank::nan, 1, bank::infinity, 2}, {1, 1, 1, 1}, slots(4));
  for (const int64_t row : {0, 2}) {
    EXPECT_TRUE(std::isnan(memory_->key(0, 0, row, 0)));
    EXPECT_TRUE(std::isnan(memory_->value(0, 0, row, 5)));
  }
  for (const int64_t row : {1, 3}) {
    EXPECT_FALSE(std::isnan(memory_->key(0, 0, row, 0)));
    EXPECT_FALSE(std::isnan(memory_->value(0, 0, row, 5)));
  }
}

// Zeros have the scale 0. No number is beyond the largest, however the scale was rounded.
TEST_P(AppendedScales, ReachAsFarAsTheNumbers) {
  const double most = largest_of(GetParam());
  const std::vector<double> numbers = {0,           most, -most, most * 1.0003,
                                       3e-5 * most, 1e-4, 1e-5,  0.3 * most};
  append(numbers, std::vector<double>(numbers.size(), 0), slots(int64_t(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const double held = problem_->k.at(0, 0, row, 0);  // in the type of the call
    const double scale = memory_->key_scale(0, 0, row, 0);
    EXPECT_GE(scale * most, std::abs(held) * (1 - 1e-6)) << i;
    EXPECT_LE(scale * most, std::abs(held) * (1 + 0x1p-9) + most * 0x1p-23) << i;
    EXPECT_NEAR(memory_->key(0, 0, row, 0), held, std::abs(held) * 0.001 + most * 0x1p-24) << i;
    EXPECT_EQ(memory_->key(0, 0, row, 1), 0) << i;
  }
}

// 127 times the largest f16 is more than such a group can hold.
TEST_P(AppendedScales, TooLargeIsNotANumber) {
  if (GetParam().dtype() == FOVEA_F16) GTEST_SKIP() << "f16 holds no such number";
  const double most = largest_of(GetParam()) * 65504;
  append({0.99 * most, 1.1 * most}, {1, 1}, slots(2));
  EXPECT_FALSE(std::isnan(memory_->key(0, 0, 0, 0)));
  EXPECT_TRUE(std::isnan(memory_->key(0, 0, 1, 0)));
}

class AppendedWithoutScales : public Appended {};
FOVEA_FOR_KERNELS(AppendedWithoutScales, appending([](const TestKernel& k) {
                    return k.info().cache == FOVEA_CACHE_E4M3 || k.info().cache == FOVEA_CACHE_E5M2;
                  }));

// Every number of the format is itself, what lies between goes to the nearer and in the middle to
// the even one; beyond the largest it is the largest.
TEST_P(AppendedWithoutScales, EveryNumberOfTheFormat) {
  if (GetParam().dtype() != FOVEA_F32) GTEST_SKIP() << "numbers between those of the format";
  const fovea_dtype dtype = cache_dtype(GetParam());
  std::vector<double> numbers, expected;
  for (unsigned bits = 0; bits < 256; ++bits) {
    const float number = plain_number(dtype, bits);
    if (!std::isfinite(number)) continue;
    numbers.push_back(number);
    expected.push_back(number);
    const float next = plain_number(dtype, bits + 1);
    if ((bits & 0x7f) == 0x7f || !std::isfinite(next)) continue;
    const double middle = (double{number} + double{next}) / 2;
    for (const double between : {middle * (1 - 1e-6), middle, middle * (1 + 1e-6)}) {
      numbers.push_back(between);
      const bool up =
          std::abs(between) > std::abs(middle) || (between == middle && (bits & 1) != 0);
      expected.push_back(up ? next : number);
    }
  }
  const double most = largest_of(GetParam());
  for (const double beyond : {1.01 * most, -1000 * most, 1e30, -3e38}) {
    numbers.push_back(beyond);
    expected.push_back(std::copysign(most, beyond));
  }
  for (const double none : {bank::nan, bank::infinity, -bank::infinity}) {
    numbers.push_back(none);
    expected.push_back(bank::nan);
  }
  append(numbers, std::vector<double>(numbers.size(), 1), slots(int64_t(numbers.size()), false));
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double got = memory_->key(0, 0, static_cast<int64_t>(i), 0);
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got)) << numbers[i];
    } else {
      EXPECT_EQ(got, expected[i]) << numbers[i];
    }
  }
}

class AppendedTokens : public Appended {};
FOVEA_FOR_KERNELS(AppendedTokens,
                  appending([](const TestKernel& k) { return k.info().d_qk == 64; }));

// Of tokens that a ring gives up nothing is written, and nothing of slots that no token has.
TEST_P(AppendedTokens, OnlyTheirSlotsAreWritten) {
  CacheSetup cache = slots(16);
  cache.ring_sinks = 2;
  cache.ring_window = 5;
  const std::vector<double> numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  append(numbers, numbers, cache);
  EXPECT_TRUE(memory_->untouched_outside());
  for (const int64_t key : {0, 1, 7, 8, 9, 10, 11})
    EXPECT_NEAR(memory_->key(0, 0, key, 3), numbers[static_cast<size_t>(key)], 0.01 * 12) << key;
  for (const auto& pool : memory_->pools()) {
    // Slots 7 to 15 of 16, and what lies behind the features of each row.
    const size_t used = pool->size() / 16 * 7;
    for (size_t i = used; i < pool->size(); ++i) ASSERT_EQ(pool->data()[i], 0xff) << i;
  }
}

// The bytes do not depend on how many tokens come at once, nor on the threads.
TEST_P(AppendedTokens, ComeInAnyPortions) {
  Random random("portions", 0);
  CallSetup setup = plain_setup(1, 150, 3, 3);
  setup.batch = 2;
  setup.kv_len = {150, 131};
  CacheSetup cache = slots(160);
  cache.page_size = 16;
  const Problem tokens(GetParam(), setup, random);
  std::vector<std::vector<unsigned char>> first;
  for (const int32_t portion : {1, 7, 64, 150}) {
    for (const int32_t threads : {1, 3}) {
      Random order("order", 0);
      CacheMemory memory(GetParam(), 2, 3, cache, used_slots(setup, cache), order);
      fovea_append append = memory.empty_append();
      fovea_exec exec = {};
      exec.size = sizeof(exec);
      exec.threads = threads;
      exec.target = GetParam().target().name;
      exec.device = tokens.exec.device;
      exec.host_tensors = tokens.exec.host_tensors;
      append.exec = &exec;
      for (int32_t from = 0; from < 150; from += portion) {
        std::vector<int32_t> begin(2), count(2);
        for (size_t b = 0; b < 2; ++b) {
          begin[b] = std::min(from, setup.kv_len[b]);
          count[b] = std::min(from + portion, setup.kv_len[b]) - begin[b];
        }
        append.k_new = tokens.k.view();
        append.v_new = tokens.v.view();
        for (fovea_tensor* t : {&append.k_new, &append.v_new}) {
          t->data =
              static_cast<unsigned char*>(t->data) + from * t->stride[2] * element_size(t->dtype);
          t->extent[2] -= from;
        }
        append.kv_len = begin.data();
        append.new_len = count.data();
        ASSERT_EQ(fovea_variant_append(GetParam().library, GetParam().info().variant, &append,
                                       tokens.params.data()),
                  FOVEA_OK)
            << fovea_last_message();
      }
      std::vector<std::vector<unsigned char>> bytes;
      for (const auto& pool : memory.pools())
        bytes.emplace_back(pool->data(), pool->data() + pool->size());
      if (first.empty()) first = bytes;
      EXPECT_TRUE(bytes == first) << "portions of " << portion << ", threads " << threads;
    }
  }
}

}  // namespace
}  // namespace fovea::test
