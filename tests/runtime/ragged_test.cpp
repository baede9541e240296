// Ragged batches: which sequence runs in which pass, whose rows and keys, in which order.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <tuple>

#include "fake_library.h"
#include "ragged_call.h"
#include "tests/support/explanation.h"

namespace fovea::test {
namespace {

std::vector<CachedSeen> run(RaggedCall& a) {
  forget_cached();
  std::fill(a.ragged_out.begin(), a.ragged_out.end(), 0.0F);
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  return cached_seen();
}

// Sequences of every kind: both passes, without rows, without keys, without either.
const std::vector<Lengths> kMixed = {{1, 30}, {40, 40}, {0, 9}, {16, 16}, {17, 0},
                                     {0, 0},  {2, 0},   {5, 3}, {100, 20}};

bool decodes(const Lengths& sequence) { return sequence.rows <= 16; }

TEST(Ragged, EveryRowIsComputedOnceByThePassOfItsSequence) {
  for (const fovea_cache_kind kind : {FOVEA_CACHE_NONE, FOVEA_CACHE_SAME}) {
    for (const int32_t threads : {1, 3, 64}) {
      for (const char* pass : {static_cast<const char*>(nullptr), "prefill", "decode"}) {
        RaggedCall a(kMixed, kind);
        a.exec.threads = threads;
        a.exec.pass = pass;
        for (const CachedSeen& s : run(a)) {
          const bool expected =
              pass != nullptr ? pass[0] == 'd' : decodes(kMixed[static_cast<size_t>(s.batch)]);
          EXPECT_EQ(s.pass == FOVEA_DECODE, expected);
          EXPECT_EQ(s.cache, kind);
        }
        a.expect_every_row_once();
      }
    }
  }
}

TEST(Ragged, ArgumentsOfEverySequence) {
  for (const fovea_cache_kind kind : {FOVEA_CACHE_NONE, FOVEA_CACHE_SAME}) {
    RaggedCall a(kMixed, kind);
    const int64_t q_rows = a.call.q.extent[2], kv_rows = a.call.k.extent[2];
    std::set<int32_t> batches;
    for (const CachedSeen& s : run(a)) {
      batches.insert(s.batch);
      const Lengths& sequence = kMixed[static_cast<size_t>(s.batch)];
      EXPECT_EQ(s.q_len, sequence.rows);
      EXPECT_EQ(s.kv_len, sequence.keys);
      EXPECT_EQ(s.q_offset, sequence.keys - sequence.rows);
      EXPECT_EQ(s.number, 77);
      const int64_t first_row = a.cu_q[static_cast<size_t>(s.batch)];
      if (s.pass == FOVEA_PREFILL) {
        const int64_t row = s.head * q_rows + first_row + s.q_block * kCachedBlockRows;
        EXPECT_EQ(s.q.host, a.ragged_q.data() + row * 32);
        EXPECT_EQ(s.out.host, a.ragged_out.data() + row * 32);
        EXPECT_EQ(s.q.shape[2], std::min(kCachedBlockRows, s.q_len - s.q_block * kCachedBlockRows));
      } else {
        EXPECT_EQ(s.q.host, a.ragged_q.data() + (s.kv_head * 2 * q_rows + first_row) * 32);
        EXPECT_EQ(s.q.shape,
                  (std::vector<int32_t>{32, 1, 2, static_cast<int32_t>(q_rows) * 32, s.q_len, 32}));
      }
      if (kind == FOVEA_CACHE_SAME) {
        EXPECT_EQ(s.pages[0], s.kv_len > 0 ? s.batch * a.cache.block_table_columns : 0);
      } else if (sequence.keys > 0) {
        const int64_t row = s.kv_head * kv_rows + a.cu_k[static_cast<size_t>(s.batch)];
        EXPECT_EQ(s.k.host, a.ragged_k.data() + row * 32);
        EXPECT_EQ(s.v.host, a.ragged_v.data() + row * 32);
        EXPECT_EQ(s.k.shape, (std::vector<int32_t>{32, 1, sequence.keys, 32}));
      }
    }
    // All with rows, but those that decode and have no keys are only finished.
    EXPECT_EQ(batches, (std::set<int32_t>{0, 1, 3, 4, 7, 8}));
  }
}

TEST(Ragged, KeysMayBeFewerThanTheRowsOfASequence) {
  RaggedCall a({{3, 20}, {20, 20}});
  a.keys = {7, 0};
  a.call.kv_len = a.keys.data();
  for (const CachedSeen& s : run(a)) {
    EXPECT_EQ(s.kv_len, s.batch == 0 ? 7 : 0);
    EXPECT_EQ(s.q_offset, s.batch == 0 ? 4 : -20);
    EXPECT_EQ(s.k.shape[2], s.kv_len);
  }
}

TEST(Ragged, ItemsBeginWithTheLongestSequences) {
  // Products of rows and keys: 200, 9000, 40, 4000, 17 * 16, 8 * 3, 16 * 900, 2 * 2
  const std::vector<Lengths> lengths = {{20, 10}, {90, 100}, {2, 20},   {40, 100},
                                        {17, 16}, {8, 3},    {16, 900}, {2, 2}};
  RaggedCall a(lengths);
  a.exec.threads = 1;
  std::vector<int32_t> order;
  for (const CachedSeen& s : run(a)) {
    if (order.empty() || order.back() != s.batch) order.push_back(s.batch);
  }
  // Prefill before decode; 200 and 17 * 16 are alike to within a factor of 2, and stay in order.
  EXPECT_EQ(order, (std::vector<int32_t>{1, 3, 4, 0, 6, 2, 5, 7}));
}

TEST(Ragged, SequencesOfOneSizeStayInOrder) {
  RaggedCall a(std::vector<Lengths>(50, {20, 20}));
  a.exec.threads = 1;
  int32_t last = 0;
  for (const CachedSeen& s : run(a)) {
    EXPECT_GE(s.batch, last);
    last = s.batch;
  }
  EXPECT_EQ(last, 49);
}

// What is computed, apart from where records lie, is the same for every number of threads.
TEST(Ragged, ItemsDoNotDependOnThreads) {
  using Item = std::tuple<int, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t>;
  std::vector<Item> first;
  for (const int32_t threads : {1, 2, 7, 64}) {
    RaggedCall a(kMixed, FOVEA_CACHE_SAME);
    a.exec.threads = threads;
    std::vector<Item> items;
    for (const CachedSeen& s : run(a)) {
      items.push_back({s.pass, s.batch, s.pass == FOVEA_PREFILL ? s.head : s.kv_head, s.q_block,
                       s.first_row, s.block_begin, s.block_end});
    }
    std::sort(items.begin(), items.end());
    EXPECT_EQ(std::adjacent_find(items.begin(), items.end()), items.end());
    if (threads == 1) first = items;
    EXPECT_EQ(items, first);
  }
}

TEST(Ragged, BothPassesShareOneSetOfWorkers) {
  RaggedCall a(kMixed);
  a.exec.threads = 3;
  const int calls = pool_calls();
  run(a);
  EXPECT_EQ(pool_calls(), calls + 1);
  EXPECT_EQ(pool_tasks(), 3);
}

TEST(Ragged, ManySequencesAreOrderedInOnePass) {
  // 200,000 sequences: anything that goes through all of them for each of them would time out.
  std::vector<Lengths> lengths;
  for (int32_t i = 0; i < 200000; ++i) lengths.push_back({i % 3, 1 + i % 7});
  RaggedCall a(lengths);
  for (auto& kernel : a.kernels) {
    static const fovea_decode_part part = {4, [](void**) { return 0; }};
    static fovea_decode_info info;
    if (kernel.decode == nullptr) continue;
    info = *kernel.decode;
    info.part_count = 1;
    info.parts = &part;
    kernel.decode = &info;
    break;
  }
  for (const int32_t threads : {1, 4}) {
    a.exec.threads = threads;
    run(a);
    a.expect_every_row_once();
  }
}

TEST(Ragged, WithoutAnyRowsNothingIsDone) {
  RaggedCall a({{0, 5}, {0, 0}, {0, 9}});
  a.library.kernel_count = 0;
  EXPECT_TRUE(run(a).empty());
  EXPECT_EQ(a.workspace(), 0U);
  EXPECT_EQ(a.explain().rfind("ok: nothing to compute", 0), 0U);
  a.ragged.batch = 0;
  EXPECT_TRUE(run(a).empty());
}

TEST(Ragged, ExplainCountsTheSequencesOfEachPass) {
  RaggedCall a(kMixed, FOVEA_CACHE_SAME);
  a.exec.threads = 1;
  const std::string size = std::to_string(a.workspace());
  const std::string text = a.explain();
  const std::string preference = "x86-sse41 is the usable target with the largest preference, 10; ";
  EXPECT_EQ(text.rfind("chosen: prefill_same (" + preference +
                           "pass prefill: 3 of 9 sequences, more than 16 query rows; up to 1 "
                           "threads, workspace " +
                           size +
                           " bytes)\n"
                           "chosen: decode_same (" +
                           preference +
                           "pass decode: 4 of 9 sequences, at most 16 query rows; up to 1 threads, "
                           "workspace " +
                           size + " bytes)\n",
                       0),
            0U)
      << text;
  EXPECT_EQ(answer_about(text, "prefill_none"), "refused, reads cache none, not same");
  EXPECT_EQ(answer_about(text, "decode_int8"), "refused, reads cache int8, not same");
  for (const char* chosen : {"prefill_same", "decode_same"})
    EXPECT_EQ(answer_about(text, chosen), "chosen");
}

TEST(Ragged, ExplainGivesTheReasonWhereOnePassTakesAll) {
  struct Row {
    void (*change)(RaggedCall&);
    const char* says;
  };
  for (const Row& row : {
           Row{[](RaggedCall& a) { a.exec.pass = "decode"; },
               "pass decode: 7 of 9 sequences, exec.pass forces it"},
           Row{[](RaggedCall& a) { a.exec.pass = "prefill"; },
               "pass prefill: 7 of 9 sequences, exec.pass forces it"},
           Row{[](RaggedCall& a) { a.kernels[1].dtype = FOVEA_F16; },
               "pass prefill: 7 of 9 sequences, no decode kernel can be used"},
           Row{[](RaggedCall& a) {
                 a.probabilities.resize(static_cast<size_t>(4 * a.call.q.extent[2] * 40));
                 a.call.probabilities =
                     probabilities_tensor(a.probabilities.data(), 1, 4, a.call.q.extent[2], 40);
               },
               "pass prefill: 7 of 9 sequences, decode does not return probabilities"},
       }) {
    RaggedCall a(kMixed);
    row.change(a);
    EXPECT_NE(a.explain().find(row.says), std::string::npos) << a.explain();
    EXPECT_EQ(a.explain().find("chosen: ", 1), std::string::npos) << a.explain();
    EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  }
}

TEST(Ragged, WhatNoKernelServesIsAnError) {
  RaggedCall a(kMixed);
  a.kernels[0].dtype = FOVEA_F16;  // prefill
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_EQ(std::string(fovea_last_message())
                .rfind("cache is NULL: not built for variant cached, pass prefill, f32", 0),
            0U)
      << fovea_last_message();
  EXPECT_TRUE(cached_seen().empty());
  RaggedCall few({{3, 3}, {1, 9}});
  few.kernels[0].dtype = FOVEA_F16;
  EXPECT_EQ(few.run(), FOVEA_OK) << fovea_last_message();
}

TEST(Ragged, FailuresNameTheKernelOfTheirPass) {
  for (const fovea_pass pass : {FOVEA_PREFILL, FOVEA_DECODE}) {
    for (const int32_t threads : {1, 4}) {
      RaggedCall a(kMixed);
      a.exec.threads = threads;
      fail_in(pass, -8);
      EXPECT_EQ(a.run(), FOVEA_KERNEL_FAILED);
      EXPECT_EQ(std::string(fovea_last_message()),
                std::string("kernel ") + (pass == FOVEA_PREFILL ? "prefill" : "decode") +
                    "_none returned error code -8");
    }
  }
  forget_cached();
  RaggedCall a(kMixed);
  a.exec.threads = 2;
  a.exec.parallel_for = [](void*, int32_t, fovea_task, void*) { return 0; };
  EXPECT_EQ(a.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(fovea_last_message(),
               "exec.parallel_for ran 0 of 2 tasks of kernels prefill_none and decode_none");
}

TEST(Ragged, WorkspaceFollowsTheLengths) {
  for (const fovea_cache_kind kind : {FOVEA_CACHE_NONE, FOVEA_CACHE_SAME}) {
    RaggedCall a(kMixed, kind);
    a.exec.threads = 2;
    const size_t size = a.workspace();
    ASSERT_GT(size, 0U);
    std::vector<unsigned char> memory(size + 128);
    for (size_t shift = 0; shift < 64; ++shift) {
      std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xa5));
      a.call.workspace = memory.data() + shift;
      a.call.workspace_size = size;
      for (const CachedSeen& s : run(a)) {
        if (s.pass != FOVEA_DECODE) continue;
        EXPECT_GE(s.out.host, memory.data() + shift);
        EXPECT_LE(static_cast<float*>(s.out.host) + s.out.shape[6] * s.out.shape[7],
                  static_cast<void*>(memory.data() + shift + size));
      }
      a.expect_every_row_once();
      for (size_t i = 0; i < memory.size(); ++i)
        ASSERT_TRUE((i >= shift && i < shift + size) || memory[i] == 0xa5) << shift;
    }
    a.call.workspace_size = size - 1;
    EXPECT_EQ(a.run(), FOVEA_WORKSPACE_TOO_SMALL);
  }
  // One long sequence does not make the short ones expensive.
  std::vector<Lengths> lengths(100, {1, 8});
  RaggedCall all_short(lengths);
  lengths[50].keys = 8000;
  RaggedCall one_long(lengths);
  for (RaggedCall* a : {&all_short, &one_long}) a->exec.threads = 1;
  EXPECT_LT(one_long.workspace(), all_short.workspace() + 2 * 1000 * 4 * sizeof(float) + 64);
}

TEST(Ragged, RecordsOfDifferentGroupsDoNotShareMemory) {
  RaggedCall a(kMixed);
  a.exec.threads = 1;
  std::vector<std::pair<const float*, const float*>> ranges;
  for (const CachedSeen& s : run(a)) {
    if (s.pass != FOVEA_DECODE) continue;
    const auto* begin = static_cast<const float*>(s.out.host);
    ranges.push_back({begin, begin + int64_t{s.out.shape[6]} * s.out.shape[7]});
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
}

TEST(Ragged, ProbabilitiesOfEverySequence) {
  RaggedCall a({{3, 20}, {20, 5}});
  const int64_t rows = a.call.q.extent[2];
  a.probabilities.assign(static_cast<size_t>(4 * rows * 33), 0);
  a.call.probabilities = probabilities_tensor(a.probabilities.data(), 1, 4, rows, 33);
  EXPECT_FALSE(run(a).empty());
  a.call.probabilities.extent[3] = 20;
  EXPECT_FALSE(run(a).empty());
  a.call.probabilities.extent[3] = 19;
  EXPECT_EQ(a.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(),
               "probabilities.extent[3] = 19: allowed: at least 20, the most keys of a sequence in "
               "ragged.cu_k");
}

// [query row, key]: reaches the longest sequence, whatever the other ones have.
TEST(Ragged, TablesReachTheLongestSequence) {
  RaggedCall a({{3, 20}, {20, 5}});
  static constexpr fovea_parameter_info kTable = {
      "allowed", FOVEA_TABLE, FOVEA_F32,
      0,         0,           0,
      0,         3,           {FOVEA_AXIS_BATCH, FOVEA_AXIS_ROW, FOVEA_AXIS_KEY},
      {}};
  const fovea_variant_info variant = {"tabled", 3, &kTable, 1, 0, 1, 0};
  a.library.variants = &variant;
  static std::vector<int32_t> shape;
  for (auto& kernel : a.kernels) {
    if (kernel.pass == FOVEA_DECODE) kernel.dtype = FOVEA_F16;
    kernel.run = [](void** argv) {
      const auto* table = static_cast<const detail::HalideBuffer*>(argv[12]);
      shape = {table->dim[0].extent, table->dim[1].extent, table->dim[2].extent};
      return 0;
    };
  }
  a.exec.threads = 1;
  std::vector<float> allowed(2 * 21 * 22);
  fovea_table params = table(allowed.data(), 2, 21, 22);
  const auto run_with = [&] { return fovea_variant_run(&a.library, 0, &a.call, &params); };
  ASSERT_EQ(run_with(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(shape, (std::vector<int32_t>{2, 21, 22}));
  params.extent[1] = params.extent[2] = 20;
  EXPECT_EQ(run_with(), FOVEA_OK) << fovea_last_message();
  params.extent[1] = 19;
  EXPECT_EQ(run_with(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(),
               "params.allowed.extent[1] = 19: allowed: at least 20 (the most rows of a sequence "
               "in ragged.cu_q)");
  params.extent[1] = 20;
  params.extent[2] = 19;
  EXPECT_EQ(run_with(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(),
               "params.allowed.extent[2] = 19: allowed: at least 20 (every key position, the most "
               "keys of a sequence in ragged.cu_k)");
  params.extent[2] = 20;
  params.extent[0] = 1;  // the batch is that of the sequences, not of q
  EXPECT_EQ(run_with(), FOVEA_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace fovea::test
