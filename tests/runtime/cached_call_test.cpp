// Calls with a cache: what kernels are told of pages, rings and scales, and which chunks of a ring
// are computed.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "cached_call.h"
#include "halide_abi.h"
#include "tests/support/explanation.h"

namespace fovea::test {
namespace {

std::vector<CachedSeen> run(CachedCall& a) {
  forget_cached();
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  return cached_seen();
}

const unsigned char* at(const std::vector<unsigned char>& memory, int64_t offset) {
  return memory.data() + offset;
}

// Feature, the dimension of a kernel's own offsets, slot, page.
std::vector<int32_t> shape_of(int32_t features, int32_t slots, int32_t slot_stride, int32_t pages,
                              int32_t page_stride) {
  return {features, 1, INT32_MAX, 1, slots, slot_stride, pages, page_stride};
}

TEST(CachedCall, PagesOfASequence) {
  for (const char* pass : {"prefill", "decode"}) {
    CachedCall a(FOVEA_CACHE_SAME);
    a.exec.pass = pass;
    const auto records = run(a);
    // 4 heads and a block each, or 2 KV heads of 3 and 2 chunks with 2 tiles of 4 rows each
    ASSERT_EQ(records.size(), pass == std::string("prefill") ? 8U : 2U * (3 + 2) * 2) << pass;
    for (const CachedSeen& s : records) {
      EXPECT_EQ(s.cache, FOVEA_CACHE_SAME);
      EXPECT_EQ(s.pages, s.batch == 0 ? (std::vector{5, 0, 2}) : (std::vector{6, 1}));
      EXPECT_EQ(s.page_shift, 3);
      EXPECT_EQ(s.kv_len, s.batch == 0 ? 17 : 9);
      EXPECT_EQ(s.q_offset, s.kv_len - 3);
      EXPECT_EQ(s.ring_sinks, 0);
      EXPECT_EQ(s.ring_begin, 0);
      EXPECT_EQ(s.ring_slot, 0);
      EXPECT_EQ(s.ring_end, INT32_MAX);
      EXPECT_EQ(s.number, 77);
      for (const auto& [seen, memory] : {std::pair(s.k, &a.k), std::pair(s.v, &a.v)}) {
        EXPECT_EQ(seen.host, at(*memory, s.kv_head * 8 * 32 * 4));
        EXPECT_EQ(seen.shape, shape_of(32, 8, 32, 7, 2 * 8 * 32));
        EXPECT_EQ(seen.code, detail::kHalideFloat);
        EXPECT_EQ(seen.bits, 32);
      }
    }
  }
}

TEST(CachedCall, WithoutPagesASequenceIsOnePage) {
  for (const char* pass : {"prefill", "decode"}) {
    CachedCall a(FOVEA_CACHE_SAME, Pages::kNone);
    a.exec.pass = pass;
    for (const CachedSeen& s : run(a)) {
      EXPECT_EQ(s.pages, (std::vector{0}));
      EXPECT_EQ(s.page_shift, 30);
      EXPECT_EQ(s.ring_end, INT32_MAX);
      EXPECT_EQ(s.k.host, at(a.k, (s.batch * 2 + s.kv_head) * 24 * 32 * 4));
      EXPECT_EQ(s.v.host, at(a.v, (s.batch * 2 + s.kv_head) * 24 * 32 * 4));
      EXPECT_EQ(s.k.shape, shape_of(32, 24, 32, 1, 0));
    }
  }
}

TEST(CachedCall, TypesAndScalesOfQuantisedCaches) {
  struct Row {
    fovea_cache_kind kind;
    int code, features;
  };
  for (const Row& row :
       {Row{FOVEA_CACHE_I8, detail::kHalideInt, 32}, Row{FOVEA_CACHE_I4, detail::kHalideUInt, 16},
        Row{FOVEA_CACHE_E4M3, detail::kHalideUInt, 32},
        Row{FOVEA_CACHE_E5M2, detail::kHalideUInt, 32}}) {
    for (const Pages pages : {Pages::kTable, Pages::kNone}) {
      for (const char* pass : {"prefill", "decode"}) {
        CachedCall a(row.kind, pages);
        a.exec.pass = pass;
        const auto records = run(a);
        EXPECT_FALSE(records.empty());
        for (const CachedSeen& s : records) {
          const int32_t slots = pages == Pages::kTable ? 8 : 24;
          const int32_t count = pages == Pages::kTable ? 7 : 1;
          const int64_t first = pages == Pages::kTable ? s.kv_head : s.batch * 2 + s.kv_head;
          const auto step = [&](int32_t n) { return count > 1 ? 2 * slots * n : 0; };
          EXPECT_EQ(s.cache, row.kind);
          EXPECT_EQ(s.k.code, row.code);
          EXPECT_EQ(s.k.bits, 8);
          EXPECT_EQ(s.k.host, at(a.k, first * slots * row.features));
          EXPECT_EQ(s.k.shape,
                    shape_of(row.features, slots, row.features, count, step(row.features)));
          EXPECT_EQ(s.k_scale.host, at(a.k_scale, first * slots * 2));
          EXPECT_EQ(s.v_scale.host, at(a.v_scale, first * slots * 2));
          EXPECT_EQ(s.k_scale.shape, shape_of(1, slots, 1, count, step(1)));
          EXPECT_EQ(s.k_scale.code, detail::kHalideFloat);
          EXPECT_EQ(s.k_scale.bits, 16);
          EXPECT_EQ(s.k_group_shift, 26);
          EXPECT_EQ(s.v_group_shift, 26);
          EXPECT_EQ(s.number, 77);
        }
      }
    }
  }
}

TEST(CachedCall, GroupsOfScales) {
  CachedCall a(FOVEA_CACHE_I8);
  std::vector<unsigned char> scales(7 * 2 * 8 * 2 * 2);
  const Shape shape = {7, 2, 8, 2};
  a.cache.k_scale = tensor(scales.data(), FOVEA_F16, shape, bhsd_strides(shape));
  for (const CachedSeen& s : run(a)) {
    EXPECT_EQ(s.k_group_shift, 0);  // 16 features
    EXPECT_EQ(s.v_group_shift, 26);
    EXPECT_EQ(s.k_scale.shape, shape_of(2, 8, 2, 7, 2 * 8 * 2));
  }
}

TEST(CachedCall, FloatsOf8BitsWithoutScalesHaveScalesOfOne) {
  for (const fovea_cache_kind kind : {FOVEA_CACHE_E4M3, FOVEA_CACHE_E5M2}) {
    for (const Pages pages : {Pages::kTable, Pages::kNone}) {
      CachedCall a(kind, pages);
      a.cache.k_scale = a.cache.v_scale = fovea_tensor{};
      for (const CachedSeen& s : run(a)) {
        for (const BufferSeen& scale : {s.k_scale, s.v_scale}) {
          EXPECT_EQ(scale.shape,
                    pages == Pages::kTable ? shape_of(1, 8, 0, 7, 0) : shape_of(1, 24, 0, 1, 0));
          EXPECT_EQ(*static_cast<const uint16_t*>(scale.host), 0x3c00);
          EXPECT_EQ(scale.bits, 16);
        }
        EXPECT_EQ(s.k_group_shift, 26);
      }
    }
  }
}

// Where a ring has each key, as fovea.h says, against what kernels compute from their arguments.
TEST(CachedCall, RingArgumentsFindEveryKey) {
  for (const Pages pages : {Pages::kTable, Pages::kNone}) {
    for (const int32_t sinks : {0, 1, 3, 8}) {
      for (const int32_t window : {1, 5, 8, 16}) {
        for (const int32_t keys : {0, 1, sinks, sinks + 1, sinks + window, sinks + window + 1, 23,
                                   24, 25, 1000, 1073676288}) {
          CachedCall a(FOVEA_CACHE_SAME, pages, 1);
          a.exec.pass = "prefill";
          a.cache.ring_sinks = sinks;
          a.cache.ring_window = window;
          a.kv_len = {keys, 0};
          const auto records = run(a);
          ASSERT_FALSE(records.empty());
          for (const CachedSeen& s : records) {
            if (s.batch != 0) continue;
            EXPECT_EQ(s.kv_len, keys);
            EXPECT_EQ(s.ring_sinks, sinks);
            EXPECT_EQ(s.ring_begin, std::max(sinks, keys - window));
            EXPECT_EQ(s.ring_end, sinks + window);
            const int32_t used = std::min(keys, sinks + window);
            if (pages == Pages::kTable) {
              EXPECT_EQ(s.pages.size(), static_cast<size_t>(std::max(1, (used + 7) / 8)));
            }
            for (int32_t i = 0; i < keys; ++i) {
              if (i == sinks) i = std::max(i, s.ring_begin);
              if (i >= keys) break;
              int32_t slot = i;
              if (i >= sinks) {
                slot = s.ring_slot + i - s.ring_begin;
                if (slot >= s.ring_end) slot -= s.ring_end - sinks;
              }
              ASSERT_EQ(slot, i < sinks ? i : sinks + (i - sinks) % window) << i << " of " << keys;
            }
          }
        }
      }
    }
  }
}

// Chunks have 8 keys. Of a ring, those that lie wholly in what it has given up are left out, the
// others stay where they are and go no further than the keys that are still there.
TEST(CachedCall, DecodeLeavesOutTheChunksThatARingHasGivenUp) {
  struct Row {
    int32_t sinks, window, keys;
    std::vector<std::pair<int32_t, int32_t>> blocks;  // of 4 keys
  };
  for (const Row& row : {
           Row{0, 8, 5, {{0, 2}}}, Row{0, 8, 16, {{2, 4}}},
           Row{0, 8, 19, {{2, 4}, {4, 5}}},        // keys from 11 on
           Row{0, 8, 21, {{3, 4}, {4, 6}}},        // keys from 13 on
           Row{4, 8, 1000, {{0, 1}, {248, 250}}},  // and from 992 on
           Row{4, 8, 1003, {{0, 1}, {248, 250}, {250, 251}}},
           Row{9, 8, 1000, {{0, 2}, {2, 3}, {248, 250}}},
           Row{9, 8, 22, {{0, 2}, {2, 4}, {4, 6}}},  // 9 to 13 gone: no whole chunk
           Row{1, 2, 7, {{0, 2}}},                   // sinks and window share a chunk
       }) {
    CachedCall a(FOVEA_CACHE_SAME, Pages::kTable, 1);
    a.cache.ring_sinks = row.sinks;
    a.cache.ring_window = row.window;
    a.kv_len = {row.keys, row.keys};
    a.block_table[5] = 4;
    for (const int32_t threads : {1, 5}) {
      a.exec.threads = threads;
      std::set<std::pair<int32_t, int32_t>> seen;
      std::vector<std::pair<const void*, int32_t>> places;
      for (const CachedSeen& s : run(a)) {
        EXPECT_EQ(s.pass, FOVEA_DECODE);
        if (s.batch != 0 || s.kv_head != 0) continue;
        seen.insert({s.block_begin, s.block_end});
        places.push_back({s.out.host, s.block_begin});
      }
      EXPECT_EQ(std::vector(seen.begin(), seen.end()), row.blocks) << row.keys;
      // Records lie next to each other in the order of their keys: this is all that finish knows.
      std::sort(places.begin(), places.end());
      for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(places[i].second, row.blocks[i].first);
    }
    EXPECT_EQ(cached_finishes(), 2 * 4);
  }
}

TEST(CachedCall, WorkspaceOfARingDependsOnItsSlotsAndNotOnLengths) {
  CachedCall a(FOVEA_CACHE_SAME, Pages::kTable, 1);
  a.cache.ring_sinks = 4;
  a.cache.ring_window = 8;
  a.exec.threads = 2;
  const size_t size = a.workspace();
  ASSERT_GT(size, 0U);
  EXPECT_LT(size, 2000U);
  std::vector<unsigned char> memory(size);
  a.call.workspace = memory.data();
  a.call.workspace_size = size;
  for (const int32_t keys : {0, 1, 12, 13, 1000, 100003}) {
    a.kv_len = {keys, 3};
    EXPECT_EQ(a.workspace(), size);
    for (const CachedSeen& s : run(a)) {
      EXPECT_GE(s.out.host, memory.data());
      EXPECT_LE(static_cast<const unsigned char*>(s.out.host) + sizeof(float),
                memory.data() + memory.size());
    }
  }
}

TEST(CachedCall, SequencesWithoutKeysHaveOnePageThatIsZero) {
  CachedCall a(FOVEA_CACHE_SAME);
  a.exec.pass = "prefill";
  a.kv_len = {0, 0};
  a.block_table.assign(6, -1);
  const auto records = run(a);
  EXPECT_EQ(records.size(), 8U);
  for (const CachedSeen& s : records) EXPECT_EQ(s.pages, (std::vector{0}));
}

TEST(CachedCall, AnEmptyPoolHasAnAddress) {
  CachedCall a(FOVEA_CACHE_I8);
  a.exec.pass = "prefill";
  a.kv_len = {0, 0};
  for (fovea_tensor* t : {&a.call.k, &a.call.v}) t->extent[0] = 0, t->data = nullptr;
  a.cache.k_scale = a.cache.v_scale = fovea_tensor{};
  for (const CachedSeen& s : run(a)) {
    EXPECT_NE(s.k.host, nullptr);
    EXPECT_NE(s.k_scale.host, nullptr);
    EXPECT_EQ(s.k.shape[6], 0);
  }
}

TEST(CachedCall, RowsOfTheBlockTableMayShareAndGoBackwards) {
  CachedCall a(FOVEA_CACHE_SAME);
  a.cache.block_table_stride = 0;
  for (const CachedSeen& s : run(a)) EXPECT_EQ(s.pages[0], 5);
  a.cache.block_table = a.block_table.data() + 3;
  a.cache.block_table_stride = -3;
  a.kv_len = {9, 17};
  for (const CachedSeen& s : run(a)) EXPECT_EQ(s.pages[0], s.batch == 0 ? 6 : 5);
}

// https://github.com/vllm-project/vllm/issues/50427 has pages so far apart that 32 bits wrap.
TEST(CachedCall, StridesOfPagesAndHeads) {
  CachedCall a(FOVEA_CACHE_SAME);
  for (fovea_tensor* t : {&a.call.k, &a.call.v}) {
    t->stride[0] = INT32_MAX;
    t->stride[1] = INT64_C(1) << 33;
  }
  // Nothing is read, and nothing else lies between the heads.
  a.call.k.data = reinterpret_cast<void*>(uintptr_t{1} << 40);
  a.call.v.data = reinterpret_cast<void*>(uintptr_t{1} << 41);
  for (const CachedSeen& s : run(a)) {
    EXPECT_EQ(s.k.shape[7], INT32_MAX);
    const auto distance =
        static_cast<const unsigned char*>(s.k.host) - static_cast<unsigned char*>(a.call.k.data);
    EXPECT_EQ(distance, s.kv_head * (INT64_C(4) << 33));
  }
}

TEST(CachedCall, ExplainNamesTheCacheOfEveryCandidate) {
  CachedCall a(FOVEA_CACHE_I8);
  a.exec.threads = 1;
  const std::string text = a.explain();
  EXPECT_EQ(text.rfind("chosen: decode_int8 (", 0), 0U) << text;
  EXPECT_EQ(answer_about(text, "decode_int4"), "refused, reads cache int4, not int8");
  EXPECT_EQ(answer_about(text, "decode_none"), "refused, reads cache none, not int8");
}

TEST(CachedCall, OtherKindsOfCacheAreNoSubstitute) {
  struct Row {
    fovea_cache_kind asked;
    const char* says;
  };
  for (const Row& row :
       {Row{FOVEA_CACHE_E4M3,
            "k.dtype = e4m3 (cache e4m3): not built for variant cached, pass prefill, f32, in "
            "library cached (CACHES e4m3 of fovea_add_library builds it); built for caches: none, "
            "same, int8, int4"},
        Row{FOVEA_CACHE_E5M2, "k.dtype = e5m2 (cache e5m2): not built"}}) {
    CachedCall a(row.asked);
    a.library.kernel_count = 8;
    EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
    EXPECT_EQ(std::string(fovea_last_message()).rfind(row.says, 0), 0U) << fovea_last_message();
  }
  CachedCall a(FOVEA_CACHE_SAME);
  a.library.kernel_count = 2;
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_STREQ(fovea_last_message(),
               "k.dtype = f32 (cache same): not built for variant cached, pass prefill, f32, in "
               "library cached (CACHES same of fovea_add_library builds it); built for caches: "
               "none");
}

TEST(CachedCall, WithoutACacheItsKernelsAreNoSubstitute) {
  CachedCall a(FOVEA_CACHE_SAME, Pages::kNone);
  a.call.cache = nullptr;
  for (const CachedSeen& s : run(a)) EXPECT_EQ(s.cache, FOVEA_CACHE_NONE);
  a.library.kernels += 2;
  a.library.kernel_count = 2;
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_STREQ(fovea_last_message(),
               "cache is NULL: not built for variant cached, pass prefill, f32, in library cached; "
               "built for caches: same");
}

}  // namespace
}  // namespace fovea::test
