// Checks of ragged batches: what each field may be, and what a message says of it.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ragged_call.h"

namespace fovea::test {
namespace {

struct CheckedRow {
  const char* name;
  fovea_cache_kind kind;
  void (*spoil)(RaggedCall&);
  fovea_status status;
  std::vector<std::string> says;
};

void PrintTo(const CheckedRow& row, std::ostream* out) { *out << row.name; }

class RaggedCheck : public testing::TestWithParam<CheckedRow> {};

TEST_P(RaggedCheck, RefusesWithFieldAndValueAndWritesNothing) {
  const CheckedRow& row = GetParam();
  RaggedCall a({{3, 20}, {20, 5}}, row.kind);
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  row.spoil(a);
  forget_cached();
  const std::vector<float> out = a.ragged_out;
  EXPECT_EQ(a.run(), row.status);
  const std::string message = fovea_last_message();
  for (const std::string& part : row.says) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  EXPECT_TRUE(cached_seen().empty());
  EXPECT_EQ(a.ragged_out, out);
  EXPECT_EQ(a.workspace(), 0U);
  EXPECT_NE(a.explain().find(message), std::string::npos);
}

constexpr fovea_cache_kind kDense = FOVEA_CACHE_NONE;
constexpr fovea_cache_kind kCache = FOVEA_CACHE_SAME;
constexpr fovea_status kInvalid = FOVEA_INVALID_ARGUMENT;

const CheckedRow kChecked[] = {
    {"size_zero",
     kDense,
     [](RaggedCall& a) { a.ragged.size = 0; },
     kInvalid,
     {"ragged.size = 0", "sizeof(fovea_ragged)"}},
    {"size_too_large",
     kDense,
     [](RaggedCall& a) { a.ragged.size += 8; },
     kInvalid,
     {"ragged.size = "}},
    {"batch_negative",
     kDense,
     [](RaggedCall& a) { a.ragged.batch = -1; },
     kInvalid,
     {"ragged.batch = -1", "allowed: 0 to"}},
    {"batch_beyond_32_bits",
     kDense,
     [](RaggedCall& a) { a.ragged.batch = INT64_C(1) << 31; },
     kInvalid,
     {"ragged.batch = 2147483648"}},
    {"cu_q_null",
     kDense,
     [](RaggedCall& a) { a.ragged.cu_q = nullptr; },
     kInvalid,
     {"ragged.cu_q is NULL", "ragged.batch + 1 = 3"}},
    {"cu_q_negative",
     kDense,
     [](RaggedCall& a) { a.cu_q[0] = -1; },
     kInvalid,
     {"ragged.cu_q[0] = -1", "allowed: 0 to q.extent[2] = 29"}},
    {"cu_q_falling",
     kDense,
     [](RaggedCall& a) { a.cu_q[2] = 5; },
     kInvalid,
     {"ragged.cu_q[2] = 5", "allowed: 6, the one before, to q.extent[2] = 29"}},
    {"cu_q_beyond_q",
     kDense,
     [](RaggedCall& a) { a.cu_q[2] = 30; },
     kInvalid,
     {"ragged.cu_q[2] = 30", "q.extent[2] = 29"}},
    {"cu_k_null",
     kDense,
     [](RaggedCall& a) { a.ragged.cu_k = nullptr; },
     kInvalid,
     {"ragged.cu_k is NULL"}},
    {"cu_k_falling",
     kDense,
     [](RaggedCall& a) { a.cu_k[1] = 2; },
     kInvalid,
     {"ragged.cu_k[1] = 2", "allowed: 3, the one before,"}},
    {"cu_k_beyond_k",
     kDense,
     [](RaggedCall& a) { a.cu_k[2] = INT32_MAX; },
     kInvalid,
     {"ragged.cu_k[2] = 2147483647", "k.extent[2] = 31"}},
    {"cu_k_with_a_cache",
     kCache,
     [](RaggedCall& a) { a.ragged.cu_k = a.cu_k.data(); },
     kInvalid,
     {"ragged.cu_k = 0x", "must be NULL", "cache"}},
    {"q_len",
     kDense,
     [](RaggedCall& a) { a.call.q_len = a.keys.data(); },
     kInvalid,
     {"q_len = 0x", "must be NULL", "ragged.cu_q"}},
    {"q_batch",
     kDense,
     [](RaggedCall& a) { a.call.q.extent[0] = 2, a.call.q.stride[0] = 0; },
     kInvalid,
     {"q.extent[0] = 2", "allowed: 1"}},
    {"out_batch",
     kDense,
     [](RaggedCall& a) { a.call.out.extent[0] = 0; },
     kInvalid,
     {"out.extent[0] = 0", "allowed: 1"}},
    {"k_batch",
     kDense,
     [](RaggedCall& a) { a.call.k.extent[0] = 2, a.call.k.stride[0] = 0; },
     kInvalid,
     {"k.extent[0] = 2", "allowed: 1"}},
    {"v_rows",
     kDense,
     [](RaggedCall& a) { a.call.v.extent[2] = 30; },
     kInvalid,
     {"v.extent[2] = 30", "allowed: 31"}},
    {"cache_batch",
     kCache,
     [](RaggedCall& a) {
       a.cache.block_table = nullptr;
       a.call.k.extent[0] = 3;
     },
     kInvalid,
     {"k.extent[0] = 3", "allowed: 2, ragged.batch"}},
    {"kv_len_beyond_its_keys",
     kDense,
     [](RaggedCall& a) {
       a.keys = {20, 6};
       a.call.kv_len = a.keys.data();
     },
     kInvalid,
     {"kv_len[1] = 6", "0 to the keys of the sequence in ragged.cu_k = 5"}},
    {"kv_len_missing",
     kCache,
     [](RaggedCall& a) { a.call.kv_len = nullptr; },
     kInvalid,
     {"kv_len is NULL", "must be given"}},
    {"page",
     kCache,
     [](RaggedCall& a) { a.pages[3] = 6; },
     kInvalid,
     {"cache.block_table[1][0] = 6", "allowed: 0 to 5"}},
    {"forced_decode_of_far_heads",
     kDense,
     [](RaggedCall& a) {
       a.exec.pass = "decode";
       a.call.q.stride[1] = INT64_C(1) << 31;
     },
     FOVEA_UNSUPPORTED,
     {"q.stride[1] = 2147483648", "pass decode"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, RaggedCheck, testing::ValuesIn(kChecked),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fovea::test
