// Checks of a merge: each row breaks one and must see its status, a message with the field, and
// nothing written.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "merge_case.h"

namespace fovea::test {
namespace {

struct Row {
  std::string name;
  std::function<void(MergeCase&)> spoil;
  fovea_status status;
  std::vector<std::string> says;  // parts of the message: field, value, what is allowed
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// Two parts of [2, 3, 4, 8].
MergeCase plain() {
  MergeCase merging({2, 3, 4, 8}, {FOVEA_F32, FOVEA_F32}, FOVEA_F32);
  Random random("MergeCheck", 0);
  merging.fill(random, -1, 1);
  return merging;
}

std::vector<unsigned char> everything(const MergeCase& merging) {
  std::vector<unsigned char> bytes;
  const auto add = [&](const StridedTensor& t) {
    bytes.insert(bytes.end(), t.memory()->data(), t.memory()->data() + t.memory()->size());
  };
  for (const StridedTensor& t : merging.outs) add(t);
  for (const StridedTensor& t : merging.lses) add(t);
  add(merging.out);
  add(merging.lse);
  return bytes;
}

class MergeCheck : public testing::TestWithParam<Row> {};

TEST_P(MergeCheck, RefusesWithFieldAndValueAndWritesNothing) {
  MergeCase merging = plain();
  GetParam().spoil(merging);
  const std::vector<unsigned char> before = everything(merging);
  EXPECT_EQ(merging.run(), GetParam().status);
  const std::string message = fovea_last_message();
  for (const std::string& part : GetParam().says)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  EXPECT_EQ(everything(merging), before);
}

void* shifted(void* data, std::ptrdiff_t bytes) { return static_cast<char*>(data) + bytes; }

constexpr fovea_status kInvalid = FOVEA_INVALID_ARGUMENT;

const Row kRows[] = {
    {"part_dtype",
     [](MergeCase& m) { m.parts[1].out.dtype = FOVEA_I32; },
     kInvalid,
     {"parts[1].out.dtype = 3 (i32)", "f32, f16, bf16"}},
    {"part_dtype_unknown",
     [](MergeCase& m) { m.parts[0].out.dtype = static_cast<fovea_dtype>(9); },
     kInvalid,
     {"parts[0].out.dtype = 9 (unknown)"}},
    {"part_lse_dtype",
     [](MergeCase& m) { m.parts[0].lse.dtype = FOVEA_F16; },
     kInvalid,
     {"parts[0].lse.dtype = 1 (f16)", "allowed: f32"}},
    {"merged_dtype",
     [](MergeCase& m) { m.merged.out.dtype = FOVEA_U8; },
     kInvalid,
     {"merged.out.dtype = 5 (u8)", "f32, f16, bf16"}},
    {"merged_lse_dtype",
     [](MergeCase& m) { m.merged.lse.dtype = FOVEA_BF16; },
     kInvalid,
     {"merged.lse.dtype = 2 (bf16)", "allowed: f32"}},
    {"part_null",
     [](MergeCase& m) { m.parts[1].out.data = nullptr; },
     kInvalid,
     {"parts[1].out.data is NULL", "2, 3, 4, 8"}},
    {"part_lse_null",
     [](MergeCase& m) { m.parts[1].lse.data = nullptr; },
     kInvalid,
     {"parts[1].lse.data is NULL", "2, 3, 4, 1"}},
    {"merged_null",
     [](MergeCase& m) { m.merged.out.data = nullptr; },
     kInvalid,
     {"merged.out.data is NULL"}},
    {"part_batch",
     [](MergeCase& m) { m.parts[1].out.extent[0] = 1; },
     kInvalid,
     {"parts[1].out.extent[0] = 1: allowed: 2, that of merged.out"}},
    {"part_heads",
     [](MergeCase& m) { m.parts[0].out.extent[1] = 2; },
     kInvalid,
     {"parts[0].out.extent[1] = 2: allowed: 3, that of merged.out"}},
    {"part_rows",
     [](MergeCase& m) { m.parts[0].out.extent[2] = 0; },
     kInvalid,
     {"parts[0].out.extent[2] = 0: allowed: 4, that of merged.out"}},
    {"part_features",
     [](MergeCase& m) { m.parts[0].out.extent[3] = 7; },
     kInvalid,
     {"parts[0].out.extent[3] = 7: allowed: 8, that of merged.out"}},
    {"part_lse_rows",
     [](MergeCase& m) { m.parts[1].lse.extent[2] = 3; },
     kInvalid,
     {"parts[1].lse.extent[2] = 3: allowed: 4, that of merged.out"}},
    {"part_lse_features",
     [](MergeCase& m) { m.parts[1].lse.extent[3] = 8; },
     kInvalid,
     {"parts[1].lse.extent[3] = 8: allowed: 1, one number a row"}},
    {"merged_lse_heads",
     [](MergeCase& m) { m.merged.lse.extent[1] = 1; },
     kInvalid,
     {"merged.lse.extent[1] = 1: allowed: 3, that of merged.out"}},
    {"extent_negative",
     [](MergeCase& m) { m.merged.out.extent[2] = -1; },
     kInvalid,
     {"merged.out.extent[2] = -1: allowed: 0 to 2147483647"}},
    {"extent_above_int32",
     [](MergeCase& m) { m.parts[0].out.extent[3] = INT64_C(1) << 31; },
     kInvalid,
     {"parts[0].out.extent[3] = 2147483648: allowed: 0 to 2147483647"}},
    {"feature_stride",
     [](MergeCase& m) { m.parts[0].out.stride[3] = 2; },
     kInvalid,
     {"parts[0].out.stride[3] = 2", "allowed: 1"}},
    {"misaligned",
     [](MergeCase& m) { m.parts[0].out.data = shifted(m.parts[0].out.data, 2); },
     kInvalid,
     {"parts[0].out.data = 0x", "multiple of the element size, 4 bytes"}},
    {"out_of_the_address_space",
     [](MergeCase& m) { m.parts[1].lse.stride[0] = INT64_MAX; },
     kInvalid,
     {"parts[1].lse.stride = 9223372036854775807", "address space"}},
    {"merged_broadcast",
     [](MergeCase& m) { m.merged.out.stride[2] = 0; },
     kInvalid,
     {"merged.out.stride = ", "must not share memory"}},
    {"merged_lse_broadcast",
     [](MergeCase& m) { m.merged.lse.stride[1] = 0; },
     kInvalid,
     {"merged.lse.stride = ", "must not share memory"}},
    {"merged_over_part_by_a_row",
     [](MergeCase& m) { m.merged.out.data = shifted(m.parts[1].out.data, -32); },
     kInvalid,
     {"merged.out.data = 0x", "overlaps parts[1].out", "or exactly that tensor"}},
    {"merged_over_part_transposed",
     [](MergeCase& m) {
       m.merged.out = m.parts[0].out;
       m.merged.out.stride[0] = 8, m.merged.out.stride[1] = 64, m.merged.out.stride[2] = 16;
     },
     kInvalid,
     {"merged.out.data = 0x", "overlaps parts[0].out", "or exactly that tensor"}},
    {"merged_over_part_of_another_type",
     [](MergeCase& m) {
       m.parts[0].out.dtype = FOVEA_F16;
       m.merged.out = m.parts[0].out;
       m.merged.out.dtype = FOVEA_BF16;
     },
     kInvalid,
     {"merged.out.data = 0x", "overlaps parts[0].out", "with the same type"}},
    {"merged_over_part_lse",
     [](MergeCase& m) { m.parts[1].lse.data = m.merged.out.data; },
     kInvalid,
     {"merged.out.data = 0x", "overlaps parts[1].lse", "allowed: no overlap"}},
    {"merged_lse_over_part",
     [](MergeCase& m) { m.merged.lse.data = m.parts[0].out.data; },
     kInvalid,
     {"merged.lse.data = 0x", "overlaps parts[0].out", "allowed: no overlap"}},
    {"merged_lse_over_part_lse",
     [](MergeCase& m) { m.merged.lse.data = shifted(m.parts[0].lse.data, -4); },
     kInvalid,
     {"merged.lse.data = 0x", "overlaps parts[0].lse", "or exactly that tensor"}},
    {"merged_lse_over_merged",
     [](MergeCase& m) { m.merged.lse.data = m.merged.out.data; },
     kInvalid,
     {"merged.lse.data = 0x", "overlaps merged.out"}},
    {"exec_size",
     [](MergeCase& m) { m.exec.size = 4; },
     kInvalid,
     {"exec.size = 4", "sizeof(fovea_exec)"}},
    {"threads_negative",
     [](MergeCase& m) { m.exec.threads = -2; },
     kInvalid,
     {"exec.threads = -2", "allowed: 0"}},
    {"stream",
     [](MergeCase& m) { m.exec.stream = &m; },
     kInvalid,
     {"exec.stream = 0x", "must be NULL"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, MergeCheck, testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(MergeArguments, AreChecked) {
  const MergeCase merging = plain();
  EXPECT_EQ(fovea_merge(merging.parts.data(), -1, &merging.merged, nullptr), kInvalid);
  EXPECT_STREQ(fovea_last_message(), "count = -1: allowed: 0 or more");
  EXPECT_EQ(fovea_merge(nullptr, 2, &merging.merged, nullptr), kInvalid);
  EXPECT_STREQ(fovea_last_message(), "parts is NULL: allowed only with count = 0, it is 2");
  EXPECT_EQ(fovea_merge(merging.parts.data(), 2, nullptr, nullptr), kInvalid);
  EXPECT_STREQ(fovea_last_message(), "merged is NULL");
  EXPECT_EQ(fovea_merge(merging.parts.data(), 2, &merging.merged, nullptr), FOVEA_OK);
  EXPECT_STREQ(fovea_last_message(), "");
}

// No check may be stricter than the contract.
class MergeAccepts : public testing::TestWithParam<Row> {};

TEST_P(MergeAccepts, Runs) {
  MergeCase merging = plain();
  GetParam().spoil(merging);
  EXPECT_EQ(merging.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_STREQ(fovea_last_message(), "");
}

const Row kAccepted[] = {
    {"one_part_twice", [](MergeCase& m) { m.parts[1] = m.parts[0]; }, FOVEA_OK, {}},
    {"in_place", [](MergeCase& m) { m.merged = m.parts[1]; }, FOVEA_OK, {}},
    {"in_place_of_both", [](MergeCase& m) { m.merged = m.parts[1] = m.parts[0]; }, FOVEA_OK, {}},
    {"no_lse_wanted", [](MergeCase& m) { m.merged.lse = fovea_tensor{}; }, FOVEA_OK, {}},
    {"lse_feature_stride_is_free",
     [](MergeCase& m) { m.parts[0].lse.stride[3] = -77; },
     FOVEA_OK,
     {}},
    {"parts_broadcast",
     [](MergeCase& m) {
       for (fovea_tensor* t : {&m.parts[0].out, &m.parts[0].lse})
         t->stride[0] = t->stride[1] = t->stride[2] = 0;
     },
     FOVEA_OK,
     {}},
    {"rows_2_to_the_40_apart",  // only kernels need them to be near
     [](MergeCase& m) {
       m.parts[0].out.extent[2] = m.parts[1].out.extent[2] = m.merged.out.extent[2] = 1;
       m.parts[0].lse.extent[2] = m.parts[1].lse.extent[2] = m.merged.lse.extent[2] = 1;
       m.parts[0].out.stride[2] = m.merged.out.stride[2] = INT64_C(1) << 40;
     },
     FOVEA_OK,
     {}},
    {"no_features",
     [](MergeCase& m) {
       for (fovea_tensor* t : {&m.parts[0].out, &m.parts[1].out, &m.merged.out}) {
         t->extent[3] = 0;
         t->data = nullptr;
       }
     },
     FOVEA_OK,
     {}},
    {"no_rows",
     [](MergeCase& m) {
       for (fovea_partial* p : {&m.parts[0], &m.parts[1], &m.merged}) {
         p->out.extent[2] = p->lse.extent[2] = 0;
         p->out.data = p->lse.data = nullptr;
       }
     },
     FOVEA_OK,
     {}},
    {"interleaved",  // [batch, head, row, part or result, feature]
     [](MergeCase& m) {
       static std::vector<float> memory(2 * 3 * 4 * 3 * 8);
       fovea_tensor* tensors[] = {&m.parts[0].out, &m.parts[1].out, &m.merged.out};
       for (size_t i = 0; i < 3; ++i)
         *tensors[i] = tensor(memory.data() + i * 8, {2, 3, 4, 8}, {288, 96, 24, 1});
     },
     FOVEA_OK,
     {}},
    {"target_and_pass_do_not_matter",
     [](MergeCase& m) { m.exec.target = "no-such", m.exec.pass = "none"; },
     FOVEA_OK,
     {}},
};

INSTANTIATE_TEST_SUITE_P(Rows, MergeAccepts, testing::ValuesIn(kAccepted),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace fovea::test
