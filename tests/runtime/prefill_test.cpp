// The prefill driver: which items run, in which order, with which arguments, on how many workers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>
#include <tuple>

#include "fake_library.h"

namespace fovea::test {
namespace {

std::vector<Seen> run(Attention& a) {
  forget_seen();
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  auto records = seen();
  for (const Seen& record : records) EXPECT_TRUE(record.scratch_ok);
  return records;
}

TEST(Prefill, ItemsStayWithAKvHeadLongestFirst) {
  Attention a;
  a.exec.threads = 1;
  const auto records = run(a);
  ASSERT_EQ(records.size(), 3U * 2 * 4);  // ceil(20 / 8) blocks, 2 sequences, 4 heads
  size_t i = 0;
  for (int b = 0; b < 2; ++b) {
    for (int kv_head = 0; kv_head < 2; ++kv_head) {
      for (int block = 2; block >= 0; --block) {
        for (int head = 2 * kv_head; head < 2 * kv_head + 2; ++head, ++i) {
          EXPECT_EQ(records[i].q_block, block);
          EXPECT_EQ(records[i].batch, b);
          EXPECT_EQ(records[i].head, head);
          EXPECT_EQ(records[i].kv_head, kv_head);
        }
      }
    }
  }
}

TEST(Prefill, ArgumentsOfAnItem) {
  Attention a(kFull);
  a.call.q = tensor_bshd(a.q.data(), {2, 4, 20, 4});
  a.call.scale = &a.scale;
  a.kv_len = {12, 5};
  a.call.kv_len = a.kv_len.data();
  a.q_len = {20, 11};
  a.call.q_len = a.q_len.data();
  for (const Seen& s : run(a)) {
    const auto b = s.batch;
    const auto first_row = s.q_block * kBlockRows;
    EXPECT_EQ(s.q_len, a.q_len[static_cast<size_t>(b)]);
    EXPECT_EQ(s.kv_len, a.kv_len[static_cast<size_t>(b)]);
    EXPECT_EQ(s.q_offset, s.kv_len - s.q_len);
    EXPECT_EQ(s.rows, std::min(kBlockRows, s.q_len - first_row));
    EXPECT_EQ(s.k_rows, s.kv_len);
    EXPECT_EQ(s.v_rows, s.kv_len);
    EXPECT_EQ(s.scale, 0.5F);
    EXPECT_EQ(s.q_stride, 16);
    EXPECT_EQ(s.k_stride, 4);
    EXPECT_EQ(s.out_stride, 4);
    EXPECT_EQ(s.lse_stride, 1);
    EXPECT_EQ(s.q, a.q.data() + ((b * 20 + first_row) * 4 + s.head) * 4);
    EXPECT_EQ(s.k, a.k.data() + (b * 2 + s.kv_head) * 12 * 4);
    EXPECT_EQ(s.v, a.v.data() + (b * 2 + s.kv_head) * 12 * 4);
    EXPECT_EQ(s.out, a.out.data() + ((b * 4 + s.head) * 20 + first_row) * 4);
    EXPECT_EQ(s.lse, a.lse.data() + (b * 4 + s.head) * 20 + first_row);
    EXPECT_EQ(s.softcap, 30.0F);
    EXPECT_EQ(s.window, 4);
    EXPECT_EQ(s.slope, (std::vector<int32_t>{1, 4, 1}));
    EXPECT_EQ(s.slope_data, a.slope.data());
    EXPECT_EQ(s.bias, (std::vector<int32_t>{2, 20, 12, 12, 1}));
  }
}

TEST(Prefill, DefaultScaleAndGivenOffsets) {
  Attention a;
  a.q_offset = {7, -3};
  a.call.q_offset = a.q_offset.data();
  for (const Seen& s : run(a)) {
    EXPECT_EQ(s.scale, 0.5F);  // 1 / sqrt(4)
    EXPECT_EQ(s.q_offset, s.batch == 0 ? 7 : -3);
  }
}

TEST(Prefill, RowsPastAShortSequenceAreLeftAlone) {
  Attention a(kFull);
  a.q_len = {9, 0};
  a.call.q_len = a.q_len.data();
  EXPECT_EQ(run(a).size(), 2U * 4);
  for (size_t b = 0; b < 2; ++b) {
    for (size_t head = 0; head < 4; ++head) {
      for (size_t row = 0; row < 20; ++row) {
        const size_t at = (b * 4 + head) * 20 + row;
        const bool inside = b == 0 && row < 9;
        EXPECT_EQ(a.out[at * 4], inside ? 1.0F : 0.0F);
        EXPECT_EQ(a.lse[at], inside ? static_cast<float>(3 + row) : -7.0F);
      }
    }
  }
  a.q_len = {0, 0};
  EXPECT_TRUE(run(a).empty());
}

TEST(Prefill, NoKeysIsAnEmptyBufferWithAnAddress) {
  Attention a(kPlain, 2, 4, 2, 20, 0);
  a.call.k.data = a.call.v.data = nullptr;
  const auto records = run(a);
  EXPECT_EQ(records.size(), 24U);
  for (const Seen& s : records) {
    EXPECT_EQ(s.k_rows, 0);
    EXPECT_EQ(s.kv_len, 0);
    EXPECT_NE(s.k, nullptr);  // null would ask Halide for bounds instead of a result
    EXPECT_NE(s.v, nullptr);
  }
}

TEST(Prefill, EmptyTableIsOneZero) {
  Attention a(kFull, 1, 2, 1, 3, 0);
  a.params.bias = {nullptr, {3, 0, 0, 0}, {0, 1, 0, 0}};
  for (const Seen& s : run(a)) EXPECT_EQ(s.bias, (std::vector<int32_t>{2, 1, 0, 1, 0}));
}

TEST(Prefill, StridesBeyond32BitsBetweenHeadsAndSequences) {
  // Only addresses are looked at: there is no such array.
  Attention a;
  a.call.k.stride[0] = INT64_C(1) << 33;
  a.call.k.stride[1] = INT64_C(1) << 32;
  for (const Seen& s : run(a)) {
    const auto distance = static_cast<const char*>(s.k) - reinterpret_cast<const char*>(a.k.data());
    EXPECT_EQ(distance, 4 * (s.batch * (INT64_C(1) << 33) + s.kv_head * (INT64_C(1) << 32)));
  }
}

TEST(Prefill, NegativeRowStrides) {
  Attention a;
  a.exec.threads = 1;
  for (fovea_tensor* t : {&a.call.q, &a.call.out}) {
    t->data = static_cast<float*>(t->data) + 19 * 4;
    t->stride[2] = -4;
  }
  for (const Seen& s : run(a)) {
    EXPECT_EQ(s.out_stride, -4);
    EXPECT_EQ(s.out,
              a.out.data() + (s.batch * 4 + s.head) * 80 + (19 - s.q_block * kBlockRows) * 4);
  }
  for (const float x : a.out) EXPECT_EQ(x, 1.0F);
}

TEST(Prefill, StridedLse) {
  Attention a(kFull);
  a.lse.assign(2 * 4 * 20 * 3, -7);
  a.call.lse = tensor(a.lse.data(), {2, 4, 20, 1}, {240, 60, 3, 1});
  for (const Seen& s : run(a)) EXPECT_EQ(s.lse_stride, 3);
  for (size_t i = 0; i < a.lse.size(); ++i) {
    const float position = static_cast<float>(i / 3 % 20) - 8;  // bottom-right: 12 keys, 20 rows
    EXPECT_EQ(a.lse[i], i % 3 == 0 ? position : -7.0F);
  }
}

TEST(Prefill, LseThatNobodyWantsGoesToTheWorkspace) {
  Attention a(kFull);
  a.call.lse = fovea_tensor{};
  std::vector<unsigned char> memory(a.workspace());
  a.call.workspace = memory.data();
  a.call.workspace_size = memory.size();
  for (const Seen& s : run(a)) {
    EXPECT_GE(s.lse, memory.data());
    EXPECT_LE(static_cast<const unsigned char*>(s.lse) + kBlockRows * 4,
              memory.data() + memory.size());
  }
}

class PrefillThreads : public testing::TestWithParam<int32_t> {};

TEST_P(PrefillThreads, EveryItemRunsOnce) {
  const int32_t threads = GetParam();
  for (const int64_t rows : {1, 7, 8, 9, 16, 17, 100}) {
    Attention a(kPlain, 3, 4, 2, rows, 5);
    a.exec.threads = threads;
    a.q_len = {static_cast<int32_t>(rows), static_cast<int32_t>(rows / 2), 1};
    a.call.q_len = a.q_len.data();
    const int calls = pool_calls();
    std::set<std::tuple<int32_t, int32_t, int32_t>> items;
    const auto records = run(a);
    for (const Seen& s : records) items.insert({s.q_block, s.batch, s.head});
    EXPECT_EQ(items.size(), records.size());
    for (size_t b = 0; b < 3; ++b) {
      for (size_t i = 0; i < static_cast<size_t>(4 * rows * 4); ++i) {
        const auto row = static_cast<int32_t>(i / 4 % static_cast<size_t>(rows));
        ASSERT_EQ(a.out[b * static_cast<size_t>(4 * rows * 4) + i], row < a.q_len[b] ? 1.0F : 0.0F);
      }
    }
    // One worker needs no pool.
    EXPECT_EQ(pool_calls() - calls, threads == 1 ? 0 : 1);
    if (threads > 1) {
      EXPECT_EQ(pool_tasks(), std::min<int64_t>(threads, static_cast<int64_t>(records.size())));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, PrefillThreads, testing::Values(1, 2, 3, 5));

TEST(Prefill, MoreThreadsThanItems) {
  Attention a(kPlain, 1, 2, 1, 3, 5);
  a.exec.threads = 64;
  const size_t two_workers = a.workspace();
  EXPECT_EQ(run(a).size(), 2U);
  EXPECT_EQ(pool_tasks(), 2);
  a.exec.threads = 2;
  EXPECT_EQ(a.workspace(), two_workers);
  a.exec.threads = INT32_MAX;
  EXPECT_EQ(a.workspace(), two_workers);
}

TEST(Prefill, SingleItemRunsWithoutThePool) {
  Attention a(kPlain, 1, 1, 1, 3, 5);
  a.exec.threads = 8;
  const int calls = pool_calls();
  EXPECT_EQ(run(a).size(), 1U);
  EXPECT_EQ(pool_calls(), calls);
}

// The caller's pool.
struct Pool {
  int calls = 0;
  int32_t count = 0;
  int result = 0;
  int32_t run_only = -1;    // so many tasks; -1: all
  int32_t repetitions = 1;  // of every task, at once
};

int pool_run(void* context, int32_t count, fovea_task task, void* closure) {
  auto* pool = static_cast<Pool*>(context);
  ++pool->calls;
  pool->count = count;
  std::vector<std::thread> threads;
  std::vector<int> codes(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    if (pool->run_only >= 0 && i >= pool->run_only) break;
    for (int32_t n = 0; n < pool->repetitions; ++n) {
      threads.emplace_back([=, &codes] {
        const int code = task(closure, i);
        if (n == 0) codes[static_cast<size_t>(i)] = code;
      });
    }
  }
  for (auto& thread : threads) thread.join();
  for (const int code : codes) {
    if (code != 0) return code;
  }
  return pool->result;
}

class PrefillHook : public testing::Test {
 protected:
  PrefillHook() {
    a_.exec.parallel_for = pool_run;
    a_.exec.pool = &pool_;
    a_.exec.threads = 3;
    forget_seen();
  }
  Attention a_;
  Pool pool_;
};

TEST_F(PrefillHook, RunsAllItems) {
  const int calls = pool_calls();
  EXPECT_EQ(run(a_).size(), 24U);
  EXPECT_EQ(pool_.calls, 1);
  EXPECT_EQ(pool_.count, 3);
  EXPECT_EQ(pool_calls(), calls);
}

TEST_F(PrefillHook, RunningATaskTwiceAtOnceIsHarmless) {
  pool_.repetitions = 3;
  EXPECT_EQ(run(a_).size(), 24U);
  for (const float x : a_.out) EXPECT_EQ(x, 1.0F);
}

TEST_F(PrefillHook, LeavingOutTasksIsAnError) {
  pool_.run_only = 2;
  EXPECT_EQ(a_.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(
      fovea_last_message(),
      "exec.parallel_for ran 2 of 3 tasks of kernel fovea_prefill__plain__f32__d4__x86-avx2");
}

TEST_F(PrefillHook, ItsOwnFailureIsReported) {
  pool_.result = 42;
  EXPECT_EQ(a_.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(
      fovea_last_message(),
      "exec.parallel_for returned 42 while running kernel fovea_prefill__plain__f32__d4__x86-avx2");
}

TEST_F(PrefillHook, KernelFailureIsReportedWithItsCode) {
  fail_at(1, 0, 2, -27);
  EXPECT_EQ(a_.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(fovea_last_message(),
               "kernel fovea_prefill__plain__f32__d4__x86-avx2 returned error code -27");
  forget_seen();
  EXPECT_EQ(a_.run(), FOVEA_OK);
  EXPECT_STREQ(fovea_last_message(), "");
}

TEST(Prefill, FailingKernelStopsTheRest) {
  for (const int32_t threads : {1, 2, 5}) {
    Attention a(kPlain, 2, 4, 2, 4000, 5);
    a.exec.threads = threads;
    forget_seen();
    fail_at(499, 0, 1, 5);
    EXPECT_EQ(a.run(), FOVEA_KERNEL_FAILED);
    EXPECT_NE(std::string(fovea_last_message()).find("returned error code 5"), std::string::npos);
    EXPECT_LT(seen().size(), 4000U);
    forget_seen();
  }
}

}  // namespace
}  // namespace fovea::test
