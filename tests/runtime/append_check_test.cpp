// Checks of an append: what each field may be, and what a message says of it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "append_call.h"
#include "check_row.h"

namespace fovea::test {
namespace {

class AppendCheck : public testing::TestWithParam<AppendRow> {};

TEST_P(AppendCheck, RefusesWithFieldAndValueAndWritesNothing) {
  const AppendRow& row = GetParam();
  AppendCall a(row.kind, row.pages);
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  row.spoil(a);
  forget_appended();
  EXPECT_EQ(a.run(), row.status);
  const std::string message = fovea_last_message();
  for (const std::string& part : row.says) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  EXPECT_TRUE(appended().empty());
}

constexpr fovea_status kInvalid = FOVEA_INVALID_ARGUMENT;
constexpr fovea_cache_kind kSame = FOVEA_CACHE_SAME;
constexpr Pages kTable = Pages::kTable;
constexpr Pages kNone = Pages::kNone;
const int32_t kOffsets[] = {0, 7, 9};
const int32_t kFalling[] = {0, 7, 6};
fovea_ragged ragged;

fovea_ragged* make_ragged(AppendCall& a, const int32_t* cu_q) {
  ragged = {};
  ragged.size = sizeof(ragged);
  ragged.batch = 2;
  ragged.cu_q = cu_q;
  a.append.ragged = &ragged;
  a.append.new_len = nullptr;
  for (fovea_tensor* t : {&a.append.k_new, &a.append.v_new}) {
    t->extent[0] = 1;
    t->extent[2] = 9;
    t->stride[1] = 9 * 32;
  }
  return &ragged;
}

const AppendRow kRows[] = {
    {"size_zero",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.size = 0; },
     kInvalid,
     {"append.size = 0", "sizeof(fovea_append)"}},
    {"size_too_large",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.size += 8; },
     kInvalid,
     {"append.size = "}},
    {"cache_size",
     kSame,
     kTable,
     [](AppendCall& a) { a.cache.size = 8; },
     kInvalid,
     {"cache.size = 8"}},
    {"exec_size",
     kSame,
     kTable,
     [](AppendCall& a) { a.exec.size = 8; },
     kInvalid,
     {"exec.size = 8"}},
    {"threads",
     kSame,
     kTable,
     [](AppendCall& a) { a.exec.threads = -2; },
     kInvalid,
     {"exec.threads = -2"}},
    {"target_unknown",
     kSame,
     kTable,
     [](AppendCall& a) { a.exec.target = "x87"; },
     kInvalid,
     {"exec.target = \"x87\""}},
    {"target_not_compiled",
     kSame,
     kTable,
     [](AppendCall& a) { a.exec.target = "x86-avx2"; },
     FOVEA_UNSUPPORTED,
     {"exec.target = \"x86-avx2\"", "not compiled", "built: x86-sse41"}},
    {"stream",
     kSame,
     kTable,
     [](AppendCall& a) { a.exec.stream = &ragged; },
     kInvalid,
     {"exec.stream = 0x"}},

    {"k_new_dtype",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k_new.dtype = FOVEA_I8; },
     kInvalid,
     {"k_new.dtype = 4 (i8)", "f32, f16, bf16"}},
    {"v_new_dtype",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v_new.dtype = FOVEA_F16; },
     kInvalid,
     {"v_new.dtype = 1 (f16)", "that of k_new, f32"}},
    {"k_dtype",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k.dtype = FOVEA_BF16; },
     kInvalid,
     {"k.dtype = 2 (bf16)", "that of k_new, f32, or i8, i4, e4m3, e5m2"}},
    {"v_dtype",
     FOVEA_CACHE_I8,
     kTable,
     [](AppendCall& a) { a.append.v.dtype = FOVEA_I4; },
     kInvalid,
     {"v.dtype = 6 (i4)", "that of k, i8"}},
    {"i4_stride",
     FOVEA_CACHE_I4,
     kTable,
     [](AppendCall& a) { a.append.k.stride[1] = 255; },
     kInvalid,
     {"k.stride[1] = 255", "even"}},
    {"scales_missing",
     FOVEA_CACHE_I8,
     kTable,
     [](AppendCall& a) { a.cache.k_scale.data = nullptr; },
     kInvalid,
     {"cache.k_scale.data is NULL"}},
    {"scales_of_f32",
     kSame,
     kTable,
     [](AppendCall& a) { a.cache.v_scale.data = &a; },
     kInvalid,
     {"cache.v_scale.data = 0x", "v.dtype = f32 has no scales"}},
    {"scale_groups",
     FOVEA_CACHE_I8,
     kTable,
     [](AppendCall& a) {
       a.k_scale.resize(a.k_scale.size() * 4);
       a.cache.k_scale = tensor(a.k_scale.data(), FOVEA_F16, {7, 2, 8, 4}, {64, 32, 4, 1});
     },
     kInvalid,
     {"cache.k_scale.extent[3] = 4", "groups of n features"}},

    {"k_new_null",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k_new.data = nullptr; },
     kInvalid,
     {"k_new.data is NULL"}},
    {"k_null",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k.data = nullptr; },
     kInvalid,
     {"k.data is NULL"}},
    {"v_new_feature_stride",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v_new.stride[3] = 2; },
     kInvalid,
     {"v_new.stride[3] = 2"}},
    {"heads_of_v_new",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v_new.extent[1] = 1; },
     kInvalid,
     {"v_new.extent[1] = 1", "allowed: 2, k_new.extent[1]"}},
    {"tokens_of_v_new",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v_new.extent[2] = 6; },
     kInvalid,
     {"v_new.extent[2] = 6", "allowed: 7, k_new.extent[2]"}},
    {"batch_of_v_new",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v_new.extent[0] = 1; },
     kInvalid,
     {"v_new.extent[0] = 1", "allowed: 2"}},
    {"heads_of_k",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k.extent[1] = 1; },
     kInvalid,
     {"k.extent[1] = 1", "allowed: 2, k_new.extent[1]"}},
    {"batch_of_k",
     kSame,
     kNone,
     [](AppendCall& a) { a.append.k.extent[0] = 1; },
     kInvalid,
     {"k.extent[0] = 1", "allowed: 2, k_new.extent[0] (batch)"}},
    {"pages_of_v",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v.extent[0] = 5; },
     kInvalid,
     {"v.extent[0] = 5", "allowed: 7, k.extent[0] (pages)"}},
    {"features_of_k",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k.extent[3] = 16; },
     kInvalid,
     {"k.extent[3] = 16", "allowed: 32, k_new.extent[3]"}},
    {"head_dims_not_built",
     kSame,
     kTable,
     [](AppendCall& a) {
       for (fovea_tensor* t : {&a.append.k_new, &a.append.v_new, &a.append.k, &a.append.v})
         t->extent[3] = 24;
     },
     FOVEA_UNSUPPORTED,
     {"k_new.extent[3] = 24, v_new.extent[3] = 24", "built: 32/32"}},
    {"dtype_not_built",
     kSame,
     kTable,
     [](AppendCall& a) {
       for (fovea_tensor* t : {&a.append.k_new, &a.append.v_new, &a.append.k, &a.append.v})
         t->dtype = FOVEA_F16;
     },
     FOVEA_UNSUPPORTED,
     {"k_new.dtype = f16", "pass append", "built: f32"}},
    {"cache_not_built",
     FOVEA_CACHE_E5M2,
     kTable,
     [](AppendCall& a) { a.library.kernel_count = 3; },
     FOVEA_UNSUPPORTED,
     {"k.dtype = e5m2 (cache e5m2)", "pass append", "CACHES e5m2",
      "built for caches: same, int8, int4"}},

    {"new_len_negative",
     kSame,
     kTable,
     [](AppendCall& a) { a.new_len[0] = -1; },
     kInvalid,
     {"new_len[0] = -1", "0 to k_new.extent[2] = 7"}},
    {"new_len_too_large",
     kSame,
     kTable,
     [](AppendCall& a) { a.new_len[1] = 8; },
     kInvalid,
     {"new_len[1] = 8", "0 to k_new.extent[2] = 7"}},
    {"kv_len_negative",
     kSame,
     kTable,
     [](AppendCall& a) { a.kv_len[1] = -1; },
     kInvalid,
     {"kv_len[1] = -1", "allowed: 0 to"}},
    {"beyond_the_pages",
     kSame,
     kTable,
     [](AppendCall& a) { a.kv_len[0] = 18; },
     kInvalid,
     {"kv_len[0] = 18", "the slots of a sequence = 24 less the 7 new tokens"}},
    {"beyond_the_slots",
     kSame,
     kNone,
     [](AppendCall& a) { a.kv_len[1] = INT32_MAX; },
     kInvalid,
     {"kv_len[1] = 2147483647", "= 24 less the 5 new tokens"}},
    {"beyond_positions",
     kSame,
     kNone,
     [](AppendCall& a) {
       a.cache.ring_window = 8;
       a.kv_len[0] = 1073676288 - 6;
     },
     kInvalid,
     {"kv_len[0] = 1073676282", "the largest position = 1073676288 less the 7"}},
    {"page",
     kSame,
     kTable,
     [](AppendCall& a) { a.block_table[2] = 7; },
     kInvalid,
     {"cache.block_table[0][2] = 7", "allowed: 0 to 6"}},
    {"page_of_a_ring_after_it_wraps",
     kSame,
     kTable,
     [](AppendCall& a) {
       a.cache.ring_window = 16;
       a.kv_len[0] = 14;  // slots 14, 15, 0 to 4
       a.block_table[0] = -1;
     },
     kInvalid,
     {"cache.block_table[0][0] = -1"}},
    {"page_size",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k.extent[2] = a.append.v.extent[2] = 5; },
     kInvalid,
     {"k.extent[2] = 5", "page size"}},
    {"ring",
     kSame,
     kTable,
     [](AppendCall& a) { a.cache.ring_sinks = 3; },
     kInvalid,
     {"cache.ring_sinks = 3", "must be 0"}},

    {"slots_share_memory",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k.stride[1] = 0; },
     kInvalid,
     {"k.stride = ", "must not share memory"}},
    {"scales_share_memory",
     FOVEA_CACHE_I8,
     kTable,
     [](AppendCall& a) { a.cache.v_scale.stride[2] = 0; },
     kInvalid,
     {"cache.v_scale.stride = ", "must not share memory"}},
    {"v_is_k",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.v.data = a.append.k.data; },
     kInvalid,
     {"v.data = 0x", "overlaps k"}},
    {"k_over_k_new",
     kSame,
     kTable,
     [](AppendCall& a) { a.append.k_new.data = a.k.data(); },
     kInvalid,
     {"k.data = 0x", "overlaps k_new"}},
    {"scale_over_v",
     FOVEA_CACHE_I8,
     kTable,
     [](AppendCall& a) { a.cache.k_scale.data = a.v.data(); },
     kInvalid,
     {"cache.k_scale.data = 0x", "overlaps v"}},

    {"ragged_size",
     kSame,
     kTable,
     [](AppendCall& a) { make_ragged(a, kOffsets)->size = 4; },
     kInvalid,
     {"ragged.size = 4"}},
    {"ragged_batch",
     kSame,
     kTable,
     [](AppendCall& a) { make_ragged(a, kOffsets)->batch = -1; },
     kInvalid,
     {"ragged.batch = -1"}},
    {"ragged_without_offsets",
     kSame,
     kTable,
     [](AppendCall& a) { make_ragged(a, nullptr); },
     kInvalid,
     {"ragged.cu_q is NULL", "3 rows"}},
    {"ragged_falling",
     kSame,
     kTable,
     [](AppendCall& a) { make_ragged(a, kFalling); },
     kInvalid,
     {"ragged.cu_q[2] = 6", "allowed: 7, the one before, to k_new.extent[2] = 9"}},
    {"ragged_with_keys",
     kSame,
     kTable,
     [](AppendCall& a) { make_ragged(a, kOffsets)->cu_k = kOffsets; },
     kInvalid,
     {"ragged.cu_k = 0x", "must be NULL"}},
    {"ragged_with_lengths",
     kSame,
     kTable,
     [](AppendCall& a) {
       make_ragged(a, kOffsets);
       a.append.new_len = a.new_len.data();
     },
     kInvalid,
     {"new_len = 0x", "must be NULL"}},
    {"ragged_with_a_batch",
     kSame,
     kTable,
     [](AppendCall& a) {
       make_ragged(a, kOffsets);
       a.append.k_new.extent[0] = 2;
     },
     kInvalid,
     {"k_new.extent[0] = 2", "allowed: 1"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, AppendCheck, testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(AppendCheck, RefusesWhatItCannotRead) {
  AppendCall a;
  EXPECT_EQ(fovea_variant_append(nullptr, 0, &a.append, &a.params), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(), "library is NULL");
  EXPECT_EQ(fovea_variant_append(&a.library, 0, nullptr, &a.params), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(), "append is NULL");
  EXPECT_EQ(fovea_variant_append(&a.library, 0, &a.append, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(fovea_last_message()).rfind("params is NULL", 0), 0U);
}

TEST(AppendCheck, OfExecThePassIsNotLookedAt) {
  AppendCall a;
  a.exec.pass = "no such pass";
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
}

TEST(AppendCheck, NoPassOfCallsIsCalledAppend) {
  Attention a;
  a.exec.pass = "append";
  EXPECT_EQ(a.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(),
               "exec.pass = \"append\": no such pass; allowed: prefill, decode");
}

}  // namespace
}  // namespace fovea::test
