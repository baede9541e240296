// Appending: which token goes to which slot, in which runs, and what kernels are told.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "append_call.h"
#include "fake_library.h"
#include "halide_abi.h"

namespace fovea::test {
namespace {

std::vector<AppendSeen> run(AppendCall& a) {
  forget_appended();
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  return appended();
}

int64_t slot_of(const AppendCall& a, int64_t key) {
  const int64_t sinks = a.cache.ring_sinks, window = a.cache.ring_window;
  return window == 0 || key < sinks ? key : sinks + (key - sinks) % window;
}

// Every slot holds the token that fovea.h says, and all others what they held before. Returns how
// many tokens were written.
int64_t expect_slots(const AppendCall& a) {
  int64_t written = 0;
  std::map<std::tuple<int64_t, int64_t>, int64_t> tokens;  // of (sequence, slot)
  for (int64_t b = 0; b < 2; ++b) {
    const int32_t held = a.append.kv_len != nullptr ? a.append.kv_len[b] : 0;
    const int32_t count = a.append.new_len != nullptr
                              ? a.append.new_len[b]
                              : static_cast<int32_t>(a.append.k_new.extent[2]);
    for (int64_t t = 0; t < count; ++t) tokens[{b, slot_of(a, held + t)}] = t;
  }
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t slot = 0; slot < 24; ++slot) {
      if (a.has_pages && a.cache.block_table[b * 3 + slot / 8] < 0) continue;
      const auto token = tokens.find({b, slot});
      if (token != tokens.end()) ++written;
      for (int64_t head = 0; head < 2; ++head) {
        for (int64_t d = 0; d < 32; ++d) {
          const float expected = token == tokens.end() ? AppendCall::kUntouched
                                                       : token_number(b, head, token->second, d);
          EXPECT_EQ(a.f32_at(a.k, b, head, slot, d), expected) << b << ' ' << slot;
          EXPECT_EQ(a.f32_at(a.v, b, head, slot, d),
                    token == tokens.end() ? expected : -expected - 100);
        }
      }
    }
  }
  return written;
}

TEST(Append, WritesEveryTokenIntoItsSlot) {
  for (const Pages pages : {Pages::kTable, Pages::kNone}) {
    for (const int32_t threads : {1, 3}) {
      AppendCall a(FOVEA_CACHE_SAME, pages);
      a.exec.threads = threads;
      run(a);
      EXPECT_EQ(expect_slots(a), 7 + 5);
    }
  }
}

TEST(Append, LengthsMayBeLeftOut) {
  AppendCall a(FOVEA_CACHE_SAME, Pages::kNone);
  a.append.kv_len = a.append.new_len = nullptr;
  a.append.cache = nullptr;
  a.append.exec = nullptr;
  run(a);
  EXPECT_EQ(expect_slots(a), 7 + 7);
}

TEST(Append, RunsAreRowsNextToEachOtherInOnePage) {
  AppendCall a;
  a.exec.threads = 1;
  struct Expected {
    int32_t batch, first_key, rows;
    int64_t page, slot;
  };
  const Expected expected[] = {
      {0, 10, 4, 0, 2}, {0, 14, 2, 0, 6}, {0, 16, 1, 2, 0},  // keys 10 to 16 of pages 5, 0, 2
      {1, 3, 4, 6, 3},  {1, 7, 1, 6, 7},                     // keys 3 to 7 of page 6
  };
  const auto records = run(a);
  ASSERT_EQ(records.size(), 2 * std::size(expected));
  for (size_t i = 0; i < records.size(); ++i) {
    const AppendSeen& s = records[i];
    const Expected& e = expected[i / 2];
    EXPECT_EQ(s.kv_head, static_cast<int32_t>(i % 2));
    EXPECT_EQ(s.batch, e.batch);
    EXPECT_EQ(s.first_key, e.first_key);
    EXPECT_EQ(s.rows(), e.rows);
    EXPECT_EQ(s.number, 77);
    const int64_t token = e.first_key - (e.batch == 0 ? 10 : 3);
    const int64_t row = (e.batch * 2 + s.kv_head) * 7 + token;
    EXPECT_EQ(s.k_new.host, a.k_new.data() + row * 32);
    EXPECT_EQ(s.v_new.host, a.v_new.data() + row * 32);
    EXPECT_EQ(s.k_new.shape, (std::vector<int32_t>{32, 1, e.rows, 32}));
    EXPECT_EQ(s.k.host, a.k.data() + ((e.page * 2 + s.kv_head) * 8 + e.slot) * 32 * 4);
    EXPECT_EQ(s.v.host, a.v.data() + ((e.page * 2 + s.kv_head) * 8 + e.slot) * 32 * 4);
    EXPECT_EQ(s.v.shape, (std::vector<int32_t>{32, 1, e.rows, 32}));
  }
}

TEST(Append, QuantisedCaches) {
  struct Row {
    fovea_cache_kind kind;
    int code;
    int32_t features;
  };
  for (const Row& row :
       {Row{FOVEA_CACHE_I8, detail::kHalideInt, 32}, Row{FOVEA_CACHE_I4, detail::kHalideUInt, 16},
        Row{FOVEA_CACHE_E4M3, detail::kHalideUInt, 32},
        Row{FOVEA_CACHE_E5M2, detail::kHalideUInt, 32}}) {
    for (const Pages pages : {Pages::kTable, Pages::kNone}) {
      AppendCall a(row.kind, pages);
      const auto records = run(a);
      int32_t rows = 0;
      for (const AppendSeen& s : records) {
        EXPECT_EQ(s.cache, row.kind);
        const int64_t slots = pages == Pages::kTable ? 8 : 24;
        int64_t first = s.batch, slot = s.first_key;
        if (pages == Pages::kTable) {
          first = a.block_table[static_cast<size_t>(s.batch * 3 + slot / 8)];
          slot %= 8;
        }
        const int64_t at = (first * 2 + s.kv_head) * slots + slot;
        EXPECT_EQ(s.k.host, a.k.data() + at * row.features);
        EXPECT_EQ(s.k.shape, (std::vector<int32_t>{row.features, 1, s.rows(), row.features}));
        EXPECT_EQ(s.k.code, row.code);
        EXPECT_EQ(s.k.bits, 8);
        EXPECT_EQ(s.k_scale.host, a.k_scale.data() + at * 2);
        EXPECT_EQ(s.v_scale.host, a.v_scale.data() + at * 2);
        EXPECT_EQ(s.v_scale.shape, (std::vector<int32_t>{1, 1, s.rows(), 1}));
        EXPECT_EQ(s.k_group_shift, 26);
        EXPECT_EQ(s.has_scales, 1);
        EXPECT_EQ(s.number, 77);
        rows += s.rows();
      }
      EXPECT_EQ(rows, 2 * (7 + 5));
    }
  }
}

TEST(Append, GroupsOfScales) {
  AppendCall a(FOVEA_CACHE_I4);
  std::vector<unsigned char> scales(7 * 2 * 8 * 2 * 2);
  const Shape shape = {7, 2, 8, 2};
  a.cache.v_scale = tensor(scales.data(), FOVEA_F16, shape, bhsd_strides(shape));
  for (const AppendSeen& s : run(a)) {
    EXPECT_EQ(s.k_group_shift, 26);
    EXPECT_EQ(s.v_group_shift, 0);
    EXPECT_EQ(s.v_scale.shape, (std::vector<int32_t>{2, 1, s.rows(), 2}));
  }
}

TEST(Append, WithoutScalesTheyGoToMemoryOfTheWorker) {
  for (const int32_t threads : {1, 4}) {
    AppendCall a(FOVEA_CACHE_E4M3, Pages::kNone);
    a.exec.threads = threads;
    a.cache.k_scale = a.cache.v_scale = fovea_tensor{};
    for (const AppendSeen& s : run(a)) {
      EXPECT_EQ(s.has_scales, 0);
      EXPECT_EQ(s.k_group_shift, 26);
      EXPECT_EQ(s.v_group_shift, 26);
      EXPECT_EQ(s.k_scale.shape, (std::vector<int32_t>{1, 1, s.rows(), 1}));
      EXPECT_NE(s.k_scale.host, s.v_scale.host);
    }
  }
}

// Sinks, window and keys before and after in every relation to each other.
TEST(Append, RingsKeepWhatIsStillThereAtTheEnd) {
  for (const Pages pages : {Pages::kTable, Pages::kNone}) {
    for (const int32_t sinks : {0, 1, 3, 9}) {
      for (const int32_t window : {1, 4, 5, 15}) {
        for (const int32_t held : {0, 1, 3, 8, 9, 24, 1000}) {
          for (const int32_t count : {0, 1, 4, 23, 40}) {
            AppendCall a(FOVEA_CACHE_SAME, pages, 40);
            a.block_table[5] = 4;
            a.cache.ring_sinks = sinks;
            a.cache.ring_window = window;
            a.kv_len = {held, 2};
            a.new_len = {count, 30};
            int64_t tokens = 0;
            for (const AppendSeen& s : run(a)) {
              EXPECT_LE(s.rows(), kAppendBlockRows);
              tokens += s.rows();
            }
            // No slot is written twice.
            EXPECT_EQ(tokens, 2 * expect_slots(a)) << sinks << ' ' << window << ' ' << held;
          }
        }
      }
    }
  }
}

TEST(Append, RaggedTokens) {
  AppendCall a;
  const int32_t cu[] = {1, 4, 13};
  fovea_ragged ragged = {};
  ragged.size = sizeof(ragged);
  ragged.batch = 2;
  ragged.cu_q = cu;
  a.append.ragged = &ragged;
  a.append.new_len = nullptr;
  for (fovea_tensor* t : {&a.append.k_new, &a.append.v_new}) {
    t->extent[0] = 1;
    t->extent[2] = 14;
    t->stride[1] = 14 * 32;
  }
  int32_t rows = 0;
  for (const AppendSeen& s : run(a)) {
    const int32_t held = s.batch == 0 ? 10 : 3;
    EXPECT_EQ(s.k_new.host,
              a.k_new.data() + (s.kv_head * 14 + cu[s.batch] + s.first_key - held) * 32);
    EXPECT_EQ(s.k_new.shape[2], s.rows());
    rows += s.rows();
  }
  EXPECT_EQ(rows, 2 * (3 + 9));
}

TEST(Append, NothingToDo) {
  AppendCall none;
  none.new_len = {0, 0};
  EXPECT_TRUE(run(none).empty());
  for (const int axis : {0, 1, 2}) {
    AppendCall a(FOVEA_CACHE_SAME, Pages::kNone);
    for (fovea_tensor* t : {&a.append.k_new, &a.append.v_new}) t->extent[axis] = 0;
    for (fovea_tensor* t : {&a.append.k, &a.append.v}) t->extent[axis] = axis == 2 ? 24 : 0;
    a.append.new_len = nullptr;
    a.library.kernel_count = 0;
    EXPECT_TRUE(run(a).empty()) << axis;
  }
}

TEST(Append, SmallAppendsStayOnTheCallingThread) {
  AppendCall a;
  a.exec.threads = 4;
  const int calls = pool_calls();
  run(a);
  EXPECT_EQ(pool_calls(), calls);
  AppendCall large(FOVEA_CACHE_SAME, Pages::kNone, 1000);
  large.k.resize(2 * 2 * 1000 * 32 * 4);
  large.v.resize(large.k.size());
  const Shape slots = {2, 2, 1000, 32};
  large.append.k = tensor(reinterpret_cast<float*>(large.k.data()), slots);
  large.append.v = tensor(reinterpret_cast<float*>(large.v.data()), slots);
  large.append.kv_len = large.append.new_len = nullptr;
  large.exec.threads = 3;
  EXPECT_EQ(run(large).size(), 2U * 2 * 250);
  EXPECT_EQ(pool_calls(), calls + 1);
  EXPECT_EQ(pool_tasks(), 3);
  EXPECT_EQ(std::memcmp(large.k.data(), large.k_new.data(), large.k.size()), 0);
}

struct Counter {
  int allocated = 0, released = 0;
  bool refuses = false;
  fovea_allocator hooks = {[](void* self, size_t size, size_t) -> void* {
                             auto* counter = static_cast<Counter*>(self);
                             if (counter->refuses) return nullptr;
                             ++counter->allocated;
                             return std::malloc(size);
                           },
                           [](void* self, void* memory) {
                             ++static_cast<Counter*>(self)->released;
                             std::free(memory);
                           },
                           this};
};

TEST(Append, TakesMemoryOnlyForScratch) {
  for (const fovea_cache_kind kind : {FOVEA_CACHE_SAME, FOVEA_CACHE_I8}) {
    AppendCall a(kind);
    Counter counter;
    a.exec.allocator = &counter.hooks;
    run(a);
    EXPECT_EQ(counter.allocated, kind == FOVEA_CACHE_SAME ? 0 : 1);
    EXPECT_EQ(counter.released, counter.allocated);
    counter.refuses = true;
    forget_appended();
    EXPECT_EQ(a.run(), kind == FOVEA_CACHE_SAME ? FOVEA_OK : FOVEA_OUT_OF_MEMORY);
  }
}

TEST(Append, FailuresOfKernelsAreReported) {
  AppendCall a(FOVEA_CACHE_I8);
  forget_appended();
  fail_append_with(-5);
  EXPECT_EQ(a.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(fovea_last_message(), "kernel append_int8 returned error code -5");
  forget_appended();
}

// Variant `full` of the fake library, whose tables run over queries, keys and sequences.
struct TableAppend : AppendCall {
  TableAppend() : AppendCall(FOVEA_CACHE_SAME, Pages::kNone) {
    kernels = {kernels[0]};
    kernels[0].variant = kFull;
    kernels[0].run = [](void** argv) {
      const auto& bias = *static_cast<const detail::HalideBuffer*>(argv[9]);
      bias_extents = {bias.dim[0].extent, bias.dim[1].extent};
      return 0;
    };
    library = fake_library();
    library.kernels = kernels.data();
    library.kernel_count = 1;
  }
  fovea_status run() { return fovea_variant_append(&library, kFull, &append, &a.params); }
  Attention a{kFull, 2, 4, 2, 1, 17};  // 17 keys at most after the call
  static inline std::vector<int32_t> bias_extents;
};

TEST(Append, TablesOverQueriesMayHaveAnyExtent) {
  TableAppend t;
  EXPECT_EQ(t.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(TableAppend::bias_extents, (std::vector{17, 17}));
  t.a.params.slope = t.a.params.bias = {nullptr, {0, 17, 0, 0}, {0, 0, 0, 0}};
  EXPECT_EQ(t.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(TableAppend::bias_extents, (std::vector{1, 1}));
  t.a.params.slope.extent[0] = -1;
  EXPECT_EQ(t.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(fovea_last_message()).rfind("params.slope.extent[0] = -1", 0), 0U);
}

TEST(Append, TablesOverKeysReachTheLastNewOne) {
  TableAppend t;
  t.a.params.bias.extent[1] = 16;
  EXPECT_EQ(t.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(),
               "params.bias.extent[1] = 16: allowed: at least 17 (every key position, the largest "
               "kv_len after the call)");
  t.kv_len[0] = 9;
  EXPECT_EQ(t.run(), FOVEA_OK) << fovea_last_message();
}

TEST(Append, TablesMustNotLieInTheCache) {
  TableAppend t;
  t.a.params.bias.data = t.v.data() + 4;
  EXPECT_EQ(t.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(fovea_last_message()).rfind("v.data = ", 0), 0U) << fovea_last_message();
}

TEST(Append, EntriesOfSlotsThatAreNotWrittenAreNotLookedAt) {
  AppendCall a;
  a.block_table = {-1, 0, 2, 6, INT32_MAX, INT32_MIN};  // keys 10 to 16 and 3 to 7
  EXPECT_FALSE(run(a).empty());
}

}  // namespace
}  // namespace fovea::test
