// Checks of a cache: what each field may be, and what a message says of it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "cached_call.h"

namespace fovea::test {
namespace {

class CacheCheck : public testing::TestWithParam<CacheRow> {};

TEST_P(CacheCheck, RefusesWithFieldAndValueAndWritesNothing) {
  const CacheRow& row = GetParam();
  CachedCall a(row.kind, row.pages);
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  row.spoil(a);
  forget_cached();
  const std::vector<float> out = a.out;
  EXPECT_EQ(a.run(), row.status);
  const std::string message = fovea_last_message();
  for (const std::string& part : row.says) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  EXPECT_TRUE(cached_seen().empty());
  EXPECT_EQ(a.out, out);
  const std::string first_line = std::string(fovea_status_name(row.status)) + ": " + message + "\n";
  EXPECT_EQ(a.explain().rfind(first_line, 0), 0U) << a.explain();
  EXPECT_EQ(a.workspace(), 0U);
}

constexpr fovea_status kInvalid = FOVEA_INVALID_ARGUMENT;
constexpr Pages kTable = Pages::kTable;
constexpr Pages kNone = Pages::kNone;

void ring(CachedCall& a, int32_t sinks, int32_t window) {
  a.cache.ring_sinks = sinks;
  a.cache.ring_window = window;
}

void groups(CachedCall& a, int64_t k_groups, int64_t v_groups) {
  a.cache.k_scale.extent[3] = k_groups;
  a.cache.v_scale.extent[3] = v_groups;
}

const CacheRow kRows[] = {
    {"size_zero",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.size = 0; },
     kInvalid,
     {"cache.size = 0", "sizeof(fovea_cache)"}},
    {"size_too_large",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.size += 8; },
     kInvalid,
     {"cache.size = ", "allowed"}},

    {"k_dtype",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.k.dtype = FOVEA_F16; },
     kInvalid,
     {"k.dtype = 1 (f16)", "that of q, f32, or i8, i4, e4m3, e5m2"}},
    {"k_dtype_unsigned",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.call.k.dtype = FOVEA_U8; },
     kInvalid,
     {"k.dtype = 5 (u8)", "i8, i4, e4m3, e5m2"}},
    {"k_dtype_unknown",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.call.k.dtype = static_cast<fovea_dtype>(9); },
     kInvalid,
     {"k.dtype = 9 (unknown)"}},
    {"v_dtype",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.call.v.dtype = FOVEA_E4M3; },
     kInvalid,
     {"v.dtype = 7 (e4m3)", "that of k, i8"}},
    {"v_dtype_of_q",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.call.v.dtype = FOVEA_F32; },
     kInvalid,
     {"v.dtype = 0 (f32)", "that of k, i8"}},
    {"quantised_without_a_cache",
     FOVEA_CACHE_I8,
     kNone,
     [](CachedCall& a) { a.call.cache = nullptr; },
     kInvalid,
     {"k.dtype = 4 (i8)", "that of q, f32"}},
    {"i4_features_of_k",
     FOVEA_CACHE_I4,
     kTable,
     [](CachedCall& a) { a.call.k.extent[3] = 16; },
     kInvalid,
     {"k.extent[3] = 16", "multiples of 32"}},
    {"i4_features_of_v",
     FOVEA_CACHE_I4,
     kTable,
     [](CachedCall& a) { a.call.v.extent[3] = 31; },
     kInvalid,
     {"v.extent[3] = 31", "multiples of 32"}},
    {"i4_odd_page_stride",
     FOVEA_CACHE_I4,
     kTable,
     [](CachedCall& a) { a.call.k.stride[0] += 1; },
     kInvalid,
     {"k.stride[0] = 513", "even"}},
    {"i4_odd_head_stride",
     FOVEA_CACHE_I4,
     kTable,
     [](CachedCall& a) { a.call.v.stride[1] = 257; },
     kInvalid,
     {"v.stride[1] = 257", "even"}},
    {"i4_odd_row_stride",
     FOVEA_CACHE_I4,
     kNone,
     [](CachedCall& a) { a.call.k.stride[2] = -33; },
     kInvalid,
     {"k.stride[2] = -33", "even"}},
    {"feature_stride",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.call.k.stride[3] = 2; },
     kInvalid,
     {"k.stride[3] = 2", "allowed: 1"}},

    {"page_size",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.k.extent[2] = a.call.v.extent[2] = 6; },
     kInvalid,
     {"k.extent[2] = 6", "a power of two"}},
    {"page_size_zero",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.k.extent[2] = a.call.v.extent[2] = 0; },
     kInvalid,
     {"k.extent[2] = 0", "page size"}},
    {"page_size_of_v",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.v.extent[2] = 4; },
     kInvalid,
     {"v.extent[2] = 4", "allowed: 8"}},
    {"pages_of_v",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.v.extent[0] = 6; },
     kInvalid,
     {"v.extent[0] = 6", "allowed: 7, k.extent[0] (pages)"}},
    {"batch_of_k",
     FOVEA_CACHE_SAME,
     kNone,
     [](CachedCall& a) { a.call.k.extent[0] = 1; },
     kInvalid,
     {"k.extent[0] = 1", "allowed: 2, q.extent[0] (batch)"}},
    {"columns_negative",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.block_table_columns = -1; },
     kInvalid,
     {"cache.block_table_columns = -1", "allowed: 0 to"}},
    {"columns_beyond_32_bits",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.block_table_columns = INT64_C(1) << 31; },
     kInvalid,
     {"cache.block_table_columns = 2147483648"}},
    {"columns_beyond_positions",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.block_table_columns = INT64_C(1) << 27; },
     FOVEA_UNSUPPORTED,
     {"cache.block_table_columns * k.extent[2] = 1073741824", "supported: 0 to 1073676288"}},
    {"table_stride",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.block_table_stride = INT64_C(1) << 31; },
     FOVEA_UNSUPPORTED,
     {"cache.block_table_stride = 2147483648", "supported"}},
    {"page_stride",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.k.stride[0] = INT64_C(1) << 31; },
     FOVEA_UNSUPPORTED,
     {"k.stride[0] = 2147483648", "page strides"}},
    {"row_stride",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.v.stride[2] = -(INT64_C(1) << 32); },
     FOVEA_UNSUPPORTED,
     {"v.stride[2] = -4294967296", "row strides"}},
    {"scale_page_stride",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.v_scale.stride[0] = INT64_C(1) << 31; },
     FOVEA_UNSUPPORTED,
     {"cache.v_scale.stride[0] = 2147483648", "page strides"}},
    {"page_negative",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.block_table[4] = -1; },
     kInvalid,
     {"cache.block_table[1][1] = -1", "allowed: 0 to 6", "7 pages"}},
    {"page_too_large",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.block_table[2] = 7; },
     kInvalid,
     {"cache.block_table[0][2] = 7", "allowed: 0 to 6"}},
    {"no_pages",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.k.extent[0] = a.call.v.extent[0] = 0; },
     kInvalid,
     {"cache.block_table[0][0] = 5", "0 pages"}},

    {"kv_len_missing",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.kv_len = nullptr; },
     kInvalid,
     {"kv_len is NULL", "must be given"}},
    {"kv_len_missing_in_a_ring",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) {
       ring(a, 0, 8);
       a.call.kv_len = nullptr;
     },
     kInvalid,
     {"kv_len is NULL", "must be given"}},
    {"kv_len_negative",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.kv_len[1] = -1; },
     kInvalid,
     {"kv_len[1] = -1", "0 to cache.block_table_columns * k.extent[2] = 24"}},
    {"kv_len_beyond_pages",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.kv_len[0] = 25; },
     kInvalid,
     {"kv_len[0] = 25", "0 to cache.block_table_columns * k.extent[2] = 24"}},
    {"kv_len_beyond_slots",
     FOVEA_CACHE_SAME,
     kNone,
     [](CachedCall& a) { a.kv_len[1] = 25; },
     kInvalid,
     {"kv_len[1] = 25", "0 to k.extent[2] = 24"}},
    {"kv_len_beyond_positions",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) {
       ring(a, 0, 8);
       a.kv_len[1] = 1073676289;
     },
     kInvalid,
     {"kv_len[1] = 1073676289", "allowed: 0 to the largest position = 1073676288"}},
    {"kv_len_negative_in_a_ring",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) {
       ring(a, 2, 8);
       a.kv_len[0] = INT32_MIN;
     },
     kInvalid,
     {"kv_len[0] = -2147483648", "allowed: 0 to"}},

    {"ring_window_negative",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { ring(a, 0, -1); },
     kInvalid,
     {"cache.ring_window = -1", "allowed: 0 (no ring) or more"}},
    {"ring_sinks_negative",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { ring(a, -1, 4); },
     kInvalid,
     {"cache.ring_sinks = -1", "allowed: 0 or more"}},
    {"ring_sinks_without_a_window",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { ring(a, 4, 0); },
     kInvalid,
     {"cache.ring_sinks = 4", "must be 0", "cache.ring_window is 0"}},
    {"ring_beyond_pages",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { ring(a, 4, 21); },
     kInvalid,
     {"cache.ring_window = 21", "with 4 sinks up to 20", "24 slots"}},
    {"ring_beyond_slots",
     FOVEA_CACHE_SAME,
     kNone,
     [](CachedCall& a) { ring(a, 23, INT32_MAX); },
     kInvalid,
     {"cache.ring_window = 2147483647", "with 23 sinks up to 1, a sequence has 24 slots"}},
    {"ring_without_room_for_a_window",
     FOVEA_CACHE_SAME,
     kNone,
     [](CachedCall& a) { ring(a, 24, 1); },
     kInvalid,
     {"cache.ring_sinks = 24", "fewer than the slots of a sequence, 24"}},

    {"scales_of_f32",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.cache.k_scale.data = a.k.data(); },
     kInvalid,
     {"cache.k_scale.data = 0x", "must be NULL", "k.dtype = f32 has no scales"}},
    {"no_scales_of_i8",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.v_scale = fovea_tensor{}; },
     kInvalid,
     {"cache.v_scale.data is NULL", "i8 and i4 have scales"}},
    {"no_scales_of_i4",
     FOVEA_CACHE_I4,
     kTable,
     [](CachedCall& a) { a.cache.k_scale.data = nullptr; },
     kInvalid,
     {"cache.k_scale.data is NULL", "i8 and i4 have scales"}},
    {"scales_of_keys_alone",
     FOVEA_CACHE_E4M3,
     kTable,
     [](CachedCall& a) { a.cache.v_scale.data = nullptr; },
     kInvalid,
     {"cache.v_scale.data is NULL", "only if k_scale and v_scale both are"}},
    {"scale_dtype",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.k_scale.dtype = FOVEA_F32; },
     kInvalid,
     {"cache.k_scale.dtype = 0 (f32)", "allowed: f16"}},
    {"scale_dtype_unknown",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.v_scale.dtype = static_cast<fovea_dtype>(15); },
     kInvalid,
     {"cache.v_scale.dtype = 15 (unknown)", "allowed: f16"}},
    {"scale_pages",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.k_scale.extent[0] = 6; },
     kInvalid,
     {"cache.k_scale.extent[0] = 6", "allowed: 7, that of k"}},
    {"scale_heads",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.v_scale.extent[1] = 1; },
     kInvalid,
     {"cache.v_scale.extent[1] = 1", "allowed: 2, that of v"}},
    {"scale_slots",
     FOVEA_CACHE_I8,
     kNone,
     [](CachedCall& a) { a.cache.v_scale.extent[2] = 23; },
     kInvalid,
     {"cache.v_scale.extent[2] = 23", "allowed: 24, that of v"}},
    {"no_group",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { groups(a, 0, 1); },
     kInvalid,
     {"cache.k_scale.extent[3] = 0", "allowed: 1, or 32 / n", "a power of two from 16 on"}},
    {"groups_that_do_not_divide",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) {
       for (fovea_tensor* t : {&a.cache.k_scale, &a.cache.v_scale}) t->stride[2] = 0;
       groups(a, 1, 3);
     },
     kInvalid,
     {"cache.v_scale.extent[3] = 3", "divides v.extent[3]"}},
    {"groups_of_8",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) {
       a.k_scale.resize(a.k_scale.size() * 4);
       a.cache.k_scale.data = a.k_scale.data();
       groups(a, 4, 1);
     },
     kInvalid,
     {"cache.k_scale.extent[3] = 4", "groups of n features"}},
    {"group_stride",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) {
       groups(a, 2, 1);
       a.cache.k_scale.stride[3] = 2;
     },
     kInvalid,
     {"cache.k_scale.stride[3] = 2", "allowed: 1"}},
    {"scale_misaligned",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.k_scale.data = a.k_scale.data() + 1; },
     kInvalid,
     {"cache.k_scale.data = 0x", "multiple of the element size, 2 bytes"}},

    {"out_over_k",
     FOVEA_CACHE_SAME,
     kTable,
     [](CachedCall& a) { a.call.out.data = a.k.data() + 6 * 2 * 8 * 32 * 4; },
     kInvalid,
     {"out.data = 0x", "overlaps k"}},
    {"out_over_packed_v",
     FOVEA_CACHE_I4,
     kTable,
     [](CachedCall& a) { a.call.v.data = reinterpret_cast<unsigned char*>(a.out.data()) + 3071; },
     kInvalid,
     {"out.data = 0x", "overlaps v"}},
    {"out_over_scales",
     FOVEA_CACHE_I8,
     kTable,
     [](CachedCall& a) { a.cache.v_scale.data = a.out.data(); },
     kInvalid,
     {"out.data = 0x", "overlaps cache.v_scale"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, CacheCheck, testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

struct Accepted {
  const char* name;
  fovea_cache_kind kind;
  Pages pages;
  void (*change)(CachedCall&);
};

void PrintTo(const Accepted& row, std::ostream* out) { *out << row.name; }

class AcceptedCache : public testing::TestWithParam<Accepted> {};

TEST_P(AcceptedCache, Runs) {
  CachedCall a(GetParam().kind, GetParam().pages);
  GetParam().change(a);
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
}

const Accepted kAccepted[] = {
    {"every_slot_used", FOVEA_CACHE_SAME, kNone, [](CachedCall& a) { a.kv_len = {24, 24}; }},
    {"entries_past_the_used_ones", FOVEA_CACHE_SAME, kTable,
     [](CachedCall& a) { a.kv_len = {8, 16}, a.block_table[1] = INT32_MAX; }},
    {"ring_fills_all_slots", FOVEA_CACHE_SAME, kTable, [](CachedCall& a) { ring(a, 4, 20); }},
    {"ring_of_one", FOVEA_CACHE_SAME, kNone, [](CachedCall& a) { ring(a, 0, 1); }},
    {"ring_entries_past_its_slots", FOVEA_CACHE_SAME, kTable,
     [](CachedCall& a) {
       ring(a, 1, 7);
       a.kv_len = {100, 100};
       a.block_table[1] = a.block_table[4] = -1;
     }},
    {"pages_of_one_slot", FOVEA_CACHE_SAME, kTable,
     [](CachedCall& a) {
       a.call.k.extent[2] = a.call.v.extent[2] = 1;
       a.call.k.stride[2] = a.call.v.stride[2] = INT64_MAX;
       a.kv_len = {3, 0};
     }},
    {"k_is_v", FOVEA_CACHE_SAME, kTable, [](CachedCall& a) { a.call.v = a.call.k; }},
    {"scales_shared_by_all", FOVEA_CACHE_I8, kTable,
     [](CachedCall& a) {
       for (fovea_tensor* t : {&a.cache.k_scale, &a.cache.v_scale})
         t->stride[0] = t->stride[1] = t->stride[2] = 0;
     }},
    {"scale_stride_of_one_group_is_free", FOVEA_CACHE_I8, kTable,
     [](CachedCall& a) { a.cache.k_scale.stride[3] = 77; }},
    {"i4_at_an_odd_address", FOVEA_CACHE_I4, kTable,
     [](CachedCall& a) {
       a.k.push_back(0);
       a.call.k.data = a.k.data() + 1;
     }},
    {"out_beside_packed_v", FOVEA_CACHE_I4, kTable,
     [](CachedCall& a) {
       const size_t bytes = a.v.size();
       a.v.resize(bytes + a.out.size() * 4);
       a.call.v.data = a.v.data();
       a.call.out.data = a.v.data() + bytes;
     }},
    {"interleaved_k_and_v", FOVEA_CACHE_SAME, kNone,
     [](CachedCall& a) {
       a.k.resize(a.k.size() * 2);
       for (fovea_tensor* t : {&a.call.k, &a.call.v}) {
         t->data = a.k.data() + (t == &a.call.v ? 32 * 4 : 0);
         for (int axis = 0; axis < 3; ++axis) t->stride[axis] *= 2;
       }
     }},
};

INSTANTIATE_TEST_SUITE_P(Rows, AcceptedCache, testing::ValuesIn(kAccepted),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fovea::test
