// Checks of a variant's run-time parameters.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "check_row.h"

namespace fovea::test {
namespace {

class ParameterCheck : public testing::TestWithParam<CheckRow> {};

TEST_P(ParameterCheck, RefusesWithFieldAndValueAndWritesNothing) { expect_refused(GetParam()); }

constexpr fovea_status kInvalid = FOVEA_INVALID_ARGUMENT;
const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

const CheckRow kRows[] = {
    {"null",
     kFull,
     [](Attention& a) { a.params_pointer = nullptr; },
     kInvalid,
     {"params is NULL", "variant full has 5 parameters"}},
    {"at_exclusive_minimum",
     kFull,
     [](Attention& a) { a.params.softcap = 0; },
     kInvalid,
     {"params.softcap = 0", "finite and above 0"}},
    {"nan",
     kFull,
     [](Attention& a) { a.params.softcap = kNan; },
     kInvalid,
     {"params.softcap = ", "nan", "finite and above 0"}},
    {"infinite",
     kFull,
     [](Attention& a) { a.params.softcap = kInf; },
     kInvalid,
     {"params.softcap = inf", "finite and above 0"}},
    {"below_minimum",
     kFull,
     [](Attention& a) { a.params.window = 0; },
     kInvalid,
     {"params.window = 0", "at least 1, at most 1000"}},
    {"above_maximum",
     kFull,
     [](Attention& a) { a.params.window = 1001; },
     kInvalid,
     {"params.window = 1001", "at least 1, at most 1000"}},
    {"table_null",
     kFull,
     [](Attention& a) { a.params.slope.data = nullptr; },
     kInvalid,
     {"params.slope.data is NULL"}},
    {"table_misaligned",
     kFull,
     [](Attention& a) { a.params.slope.data = reinterpret_cast<char*>(a.slope.data()) + 1; },
     kInvalid,
     {"params.slope.data = 0x", "multiple of the element size, 4 bytes"}},
    {"head_extent",
     kFull,
     [](Attention& a) { a.params.slope.extent[0] = 3; },
     kInvalid,
     {"params.slope.extent[0] = 3", "allowed: 4 (the number of query heads)"}},
    {"query_extent",
     kFull,
     [](Attention& a) { a.params.bias.extent[0] = 11; },
     kInvalid,
     {"params.bias.extent[0] = 11", "at least 12", "query position"}},
    {"query_extent_with_offset",
     kFull,
     [](Attention& a) { a.q_offset = {0, 1}, a.call.q_offset = a.q_offset.data(); },
     kInvalid,
     {"params.bias.extent[0] = 20", "at least 21", "query position"}},
    {"query_extent_all_negative",
     kFull,
     [](Attention& a) {
       a.q_offset = {-50, -50};
       a.call.q_offset = a.q_offset.data();
       a.params.bias.extent[0] = 0;
     },
     kInvalid,
     {"params.bias.extent[0] = 0", "at least 1"}},
    {"key_extent",
     kFull,
     [](Attention& a) { a.params.bias.extent[1] = 11; },
     kInvalid,
     {"params.bias.extent[1] = 11", "at least 12", "key position"}},
    {"any_extent",
     kFull,
     [](Attention& a) { a.params.extra.extent[0] = 0; },
     kInvalid,
     {"params.extra.extent[0] = 0", "at least 1"}},
    {"extent_above_int32",
     kFull,
     [](Attention& a) { a.params.extra.extent[0] = INT64_C(1) << 31; },
     kInvalid,
     {"params.extra.extent[0] = 2147483648", "at most 2147483647"}},
    {"fixed_extent",
     kFull,
     [](Attention& a) { a.params.extra.extent[1] = 4; },
     kInvalid,
     {"params.extra.extent[1] = 4", "allowed: 3"}},
    {"batch_extent",
     kFull,
     [](Attention& a) { a.params.extra.extent[2] = 1; },
     kInvalid,
     {"params.extra.extent[2] = 1", "allowed: 2 (the batch)"}},
    {"kv_head_extent",
     kFull,
     [](Attention& a) { a.params.extra.extent[3] = 4; },
     kInvalid,
     {"params.extra.extent[3] = 4", "allowed: 2 (the number of KV heads)"}},
    {"stride_above_int32",
     kFull,
     [](Attention& a) { a.params.slope.stride[0] = INT64_C(1) << 31; },
     FOVEA_UNSUPPORTED,
     {"params.slope.stride[0] = 2147483648", "2147483647"}},
    {"out_over_table",
     kFull,
     [](Attention& a) { a.params.bias.data = a.out.data() + 8; },
     kInvalid,
     {"out.data = 0x", "overlaps params.bias"}},
    {"lse_over_table",
     kFull,
     [](Attention& a) { a.params.slope.data = a.lse.data() + 3; },
     kInvalid,
     {"lse.data = 0x", "overlaps params.slope"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, ParameterCheck, testing::ValuesIn(kRows),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fovea::test
