// Checks of the outputs besides `out`: each of them is held to the same rules.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "check_row.h"

namespace fovea::test {
namespace {

struct Extra {
  std::string name;
  fovea_tensor fovea_call::* field;
  std::vector<float> Attention::* memory;
  std::string last_extent;  // what extent[3] has to be
};

const Extra kExtras[] = {
    {"lse", &fovea_call::lse, &Attention::lse, "1, one number a row"},
    {"row_max", &fovea_call::row_max, &Attention::row_max, "1, one number a row"},
    {"row_sum", &fovea_call::row_sum, &Attention::row_sum, "1, one number a row"},
    {"probabilities", &fovea_call::probabilities, &Attention::probabilities,
     "12, k.extent[2] (keys)"},
};

constexpr fovea_status kInvalid = FOVEA_INVALID_ARGUMENT;

void add_layout_rows(const Extra& e, std::vector<CheckRow>* rows) {
  const auto add = [&](const char* what, std::function<void(fovea_tensor&)> spoil,
                       fovea_status status, std::vector<std::string> says) {
    const auto field = e.field;
    rows->push_back({e.name + "_" + what, kEvery, [=](Attention& a) { spoil(a.call.*field); },
                     status, std::move(says)});
  };
  add("dtype", [](fovea_tensor& t) { t.dtype = FOVEA_F16; }, kInvalid,
      {e.name + ".dtype = 1 (f16): allowed: f32"});
  add("dtype_unknown", [](fovea_tensor& t) { t.dtype = static_cast<fovea_dtype>(9); }, kInvalid,
      {e.name + ".dtype = 9 (unknown): allowed: f32"});
  add("misaligned", [](fovea_tensor& t) { t.data = static_cast<char*>(t.data) + 2; }, kInvalid,
      {e.name + ".data = 0x", "must be a multiple of the element size, 4 bytes"});
  add("extent_negative", [](fovea_tensor& t) { t.extent[2] = -1; }, kInvalid,
      {e.name + ".extent[2] = -1: allowed: 0 to 2147483647"});
  add("batch", [](fovea_tensor& t) { t.extent[0] = 1; }, kInvalid,
      {e.name + ".extent[0] = 1: allowed: 2, q.extent[0] (batch)"});
  add("heads", [](fovea_tensor& t) { t.extent[1] = 2; }, kInvalid,
      {e.name + ".extent[1] = 2: allowed: 4, q.extent[1] (query heads)"});
  add("rows", [](fovea_tensor& t) { t.extent[2] = 19; }, kInvalid,
      {e.name + ".extent[2] = 19: allowed: 20, q.extent[2] (query rows)"});
  add("last_extent", [](fovea_tensor& t) { t.extent[3] = 0; }, kInvalid,
      {e.name + ".extent[3] = 0: allowed: " + e.last_extent});
  add("batches_share", [](fovea_tensor& t) { t.stride[0] = 0; }, kInvalid,
      {e.name + ".stride = 0, ", "elements of an output must not share memory"});
  add("rows_share", [](fovea_tensor& t) { t.stride[2] = 0; }, kInvalid,
      {e.name + ".stride = ", "elements of an output must not share memory"});
  add("reach_overflows", [](fovea_tensor& t) { t.stride[1] = INT64_MAX / 2; }, kInvalid,
      {e.name + ".stride = ", "reaches outside of the address space"});
  add("row_stride_above_int32", [](fovea_tensor& t) { t.stride[2] = INT64_C(1) << 31; },
      FOVEA_UNSUPPORTED,
      {e.name + ".stride[2] = 2147483648: supported: row strides of -2147483648 to 2147483647 "
                "elements"});
}

void add_overlap_rows(const Extra& e, std::vector<CheckRow>* rows) {
  const auto field = e.field;
  const auto memory = e.memory;
  const auto add = [&](const std::string& what, std::vector<float> Attention::* other,
                       fovea_tensor fovea_call::* other_field) {
    rows->push_back(
        {e.name + "_over_" + what,
         kEvery,
         [=](Attention& a) {
           // The last element of the output lies on the first one of the other.
           std::vector<float>& both = a.*memory;
           const size_t size = both.size();
           both.resize(size + (a.*other).size());
           (a.call.*field).data = both.data();
           (a.call.*other_field).data = both.data() + size - 1;
         },
         kInvalid,
         {e.name + ".data = 0x", ": overlaps " + what + " (0x", "; allowed: no overlap"}});
  };
  add("q", &Attention::q, &fovea_call::q);
  add("k", &Attention::k, &fovea_call::k);
  add("v", &Attention::v, &fovea_call::v);
  add("out", &Attention::out, &fovea_call::out);
  for (const Extra& before : kExtras) {
    if (before.name == e.name) break;
    add(before.name, before.memory, before.field);
  }
  // Of a table of bool: by its very last byte.
  rows->push_back(
      {e.name + "_over_table",
       kEvery,
       [=](Attention& a) {
         std::vector<float>& both = a.*memory;
         const size_t size = both.size();
         both.resize(size + a.allowed.size() / sizeof(float) + 1);
         (a.call.*field).data = both.data();
         a.every.allowed.data = reinterpret_cast<unsigned char*>(both.data() + size) - 1;
       },
       kInvalid,
       {e.name + ".data = 0x", ": overlaps params.allowed (0x", "; allowed: no overlap"}});
}

std::vector<CheckRow> all_rows() {
  std::vector<CheckRow> rows;
  for (const Extra& e : kExtras) {
    add_layout_rows(e, &rows);
    add_overlap_rows(e, &rows);
    for (const Variant variant : {kPlain, kFull}) {
      if (variant == kFull && e.name == "lse") continue;
      const std::string name = variant == kPlain ? "plain" : "full";
      const auto field = e.field;
      rows.push_back({e.name + "_not_returned_by_" + name,
                      variant,
                      [=](Attention& a) { a.call.*field = lse_tensor(a.row_max.data(), 2, 4, 20); },
                      kInvalid,
                      {e.name + ".data = 0x",
                       ": must be NULL, variant " + name +
                           " does not return it (declare it with v.returns(" + e.name + "))"}});
    }
  }
  const auto key_stride = [](int64_t stride) {
    return [stride](Attention& a) {
      // Only addresses are looked at: there is no such array.
      a.call.probabilities.data = at_address<float>(UINT64_C(1) << 46);
      a.call.probabilities.stride[3] = stride;
    };
  };
  rows.push_back({"key_stride_zero",
                  kEvery,
                  key_stride(0),
                  kInvalid,
                  {"probabilities.stride = 960, 240, 12, 0: elements of an output must not share "
                   "memory"}});
  rows.push_back({"key_stride_above_int32",
                  kEvery,
                  key_stride(INT64_C(1) << 31),
                  FOVEA_UNSUPPORTED,
                  {"probabilities.stride[3] = 2147483648: supported: key strides of -2147483648 to "
                   "2147483647 elements"}});
  rows.push_back({"key_stride_below_int32",
                  kEvery,
                  key_stride(-(INT64_C(1) << 31) - 1),
                  FOVEA_UNSUPPORTED,
                  {"probabilities.stride[3] = -2147483649"}});
  return rows;
}

class OutputCheck : public testing::TestWithParam<CheckRow> {};

TEST_P(OutputCheck, RefusesWithFieldAndValueAndWritesNothing) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rows, OutputCheck, testing::ValuesIn(all_rows()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace fovea::test
