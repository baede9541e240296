// Calls at the edge of what is allowed: no check may be stricter than the contract.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fake_library.h"

namespace fovea::test {
namespace {

struct Row {
  const char* name;
  Variant variant;
  void (*change)(Attention&);
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class AcceptedCall : public testing::TestWithParam<Row> {};

TEST_P(AcceptedCall, Runs) {
  Attention a(GetParam().variant);
  GetParam().change(a);
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_STREQ(fovea_last_message(), "");
}

const float kNegative = -2;
const float kZero = 0;

const Row kRows[] = {
    {"scale_negative", kPlain, [](Attention& a) { a.call.scale = &kNegative; }},
    {"scale_zero", kPlain, [](Attention& a) { a.call.scale = &kZero; }},
    {"exec_null", kPlain, [](Attention& a) { a.call.exec = nullptr; }},
    {"pass_named", kPlain, [](Attention& a) { a.exec.pass = "prefill"; }},
    {"out_is_q", kPlain, [](Attention& a) { a.call.out = a.call.q; }},
    {"k_is_v", kPlain, [](Attention& a) { a.call.v = a.call.k; }},
    {"kv_heads_broadcast", kPlain,
     [](Attention& a) { a.call.k.stride[1] = a.call.v.stride[1] = 0; }},
    {"strides_of_single_rows_are_free", kPlain,
     [](Attention& a) {
       for (fovea_tensor* t : {&a.call.q, &a.call.out}) t->extent[2] = 1, t->stride[2] = INT64_MAX;
     }},
    {"lse_feature_stride_is_free", kFull, [](Attention& a) { a.call.lse.stride[3] = 77; }},
    {"lse_not_wanted", kFull, [](Attention& a) { a.call.lse = fovea_tensor{}; }},
    {"packed_rows", kPlain,
     [](Attention& a) {
       // [batch, row, q/k/v/out, head, feature]: out lies between the rows of its inputs.
       static std::vector<float> packed;
       packed.assign(2 * 12 * 4 * 2 * 4, 1);
       const Strides strides = {12 * 4 * 2 * 4, 4, 4 * 2 * 4, 1};
       fovea_tensor* tensors[] = {&a.call.q, &a.call.k, &a.call.v, &a.call.out};
       for (size_t i = 0; i < 4; ++i)
         *tensors[i] = tensor(packed.data() + i * 2 * 4, {2, 2, 12, 4}, strides);
     }},
    {"packed_heads", kPlain,
     [](Attention& a) {
       // [batch, head, row, q/k/v/out, feature]
       static std::vector<float> packed;
       packed.assign(2 * 2 * 12 * 4 * 4, 1);
       const Strides strides = {2 * 12 * 4 * 4, 12 * 4 * 4, 4 * 4, 1};
       fovea_tensor* tensors[] = {&a.call.q, &a.call.k, &a.call.v, &a.call.out};
       for (size_t i = 0; i < 4; ++i)
         *tensors[i] = tensor(packed.data() + i * 4, {2, 2, 12, 4}, strides);
     }},
    {"negative_row_strides", kPlain,
     [](Attention& a) {
       for (fovea_tensor* t : {&a.call.q, &a.call.out}) {
         t->data = static_cast<float*>(t->data) + 19 * 4;
         t->stride[2] = -4;
       }
     }},
    {"scalar_at_its_maximum", kFull, [](Attention& a) { a.params.window = 1000; }},
    {"table_broadcast", kFull, [](Attention& a) { a.params.bias.stride[0] = 0; }},
    {"table_longer_than_positions", kFull,
     [](Attention& a) { a.params.bias.extent[0] = 100, a.params.bias.stride[0] = 0; }},
    {"every_output", kEvery, [](Attention&) {}},
    {"bool_table_at_an_odd_address", kEvery,
     [](Attention& a) {
       a.allowed.push_back(1);
       a.every.allowed.data = a.allowed.data() + 1;
     }},
    {"bool_table_reversed", kEvery,
     [](Attention& a) {
       a.every.allowed.data = a.allowed.data() + a.allowed.size() - 1;
       a.every.allowed.stride[0] = -12;
       a.every.allowed.stride[1] = -1;
     }},
    {"tables_of_every_axis_broadcast", kEvery,
     [](Attention& a) {
       for (fovea_table* t : {&a.every.position, &a.every.row, &a.every.feature,
                              &a.every.value_feature, &a.every.allowed})
         t->stride[0] = t->stride[1] = 0;
     }},
    {"position_table_longer", kEvery,
     [](Attention& a) { a.every.position.extent[0] = 99, a.every.position.stride[0] = 0; }},
    {"outputs_interleaved", kEvery,
     [](Attention& a) {
       // [batch, head, row, lse/row_max/row_sum]
       static std::vector<float> rows;
       rows.assign(2 * 4 * 20 * 3, 0);
       const Strides strides = {240, 60, 3, 1};
       fovea_tensor* tensors[] = {&a.call.lse, &a.call.row_max, &a.call.row_sum};
       for (size_t i = 0; i < 3; ++i) *tensors[i] = tensor(rows.data() + i, {2, 4, 20, 1}, strides);
     }},
    {"q_offset_negative", kFull,
     [](Attention& a) { a.q_offset = {-50, -3}, a.call.q_offset = a.q_offset.data(); }},
    {"q_offset_largest", kPlain,
     [](Attention& a) {
       a.q_offset = {1073676268, -1073676276}, a.call.q_offset = a.q_offset.data();
     }},
};

INSTANTIATE_TEST_SUITE_P(Rows, AcceptedCall, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fovea::test
