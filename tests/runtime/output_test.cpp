// Where the outputs besides `out` go: the caller's memory in any layout, or the workspace.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

#include "checks.h"
#include "fake_library.h"

namespace fovea::test {
namespace {

std::vector<Seen> run(Attention& a) {
  forget_seen();
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  auto records = seen();
  for (const Seen& record : records) EXPECT_TRUE(record.scratch_ok);
  return records;
}

// What the kernel writes for a row of a call with 20 rows and 12 keys, bottom-right.
float position_of(size_t row) { return static_cast<float>(row) - 8; }

TEST(Outputs, ArgumentsOfAnItem) {
  Attention a(kEvery);
  const auto records = run(a);
  ASSERT_EQ(records.size(), 24U);
  for (const Seen& s : records) {
    const auto first_row = (s.batch * 4 + s.head) * 20 + s.q_block * kBlockRows;
    EXPECT_EQ(s.lse, a.lse.data() + first_row);
    EXPECT_EQ(s.row_max, a.row_max.data() + first_row);
    EXPECT_EQ(s.row_sum, a.row_sum.data() + first_row);
    EXPECT_EQ(s.probabilities, a.probabilities.data() + first_row * 12);
    EXPECT_EQ(s.lse_stride, 1);
    EXPECT_EQ(s.row_max_stride, 1);
    EXPECT_EQ(s.row_sum_stride, 1);
    EXPECT_EQ(s.probabilities_shape, (std::vector<int32_t>{2, 12, 1, s.rows, 12}));
  }
}

TEST(Outputs, EachGoesToItsOwnMemory) {
  Attention a(kEvery);
  run(a);
  for (size_t i = 0; i < a.lse.size(); ++i) {
    const float position = position_of(i % 20);
    ASSERT_EQ(a.lse[i], position);
    ASSERT_EQ(a.row_max[i], position + 1000);
    ASSERT_EQ(a.row_sum[i], position + 2000);
    for (size_t key = 0; key < 12; ++key)
      ASSERT_EQ(a.probabilities[i * 12 + key], position + static_cast<float>(key) / 1000);
  }
}

TEST(Outputs, NothingIsWrittenPastTheLengths) {
  Attention a(kEvery);
  a.q_len = {9, 0};
  a.kv_len = {5, 12};
  a.call.q_len = a.q_len.data();
  a.call.kv_len = a.kv_len.data();
  run(a);
  for (size_t i = 0; i < a.lse.size(); ++i) {
    const bool inside = i < 80 && i % 20 < 9;
    for (const auto* rows : {&a.lse, &a.row_max, &a.row_sum})
      ASSERT_EQ((*rows)[i] != -7, inside) << i;
    for (size_t key = 0; key < 12; ++key)
      ASSERT_EQ(a.probabilities[i * 12 + key] != -7, inside && key < 5) << i << ' ' << key;
  }
}

TEST(Outputs, AnyKeyStride) {
  // [key, batch, head, row], keys from the last to the first: the key is the outermost axis.
  Attention a(kEvery);
  a.call.probabilities =
      tensor(a.probabilities.data() + 11 * 160, Shape{2, 4, 20, 12}, Strides{80, 20, 1, -160});
  for (const Seen& s : run(a))
    EXPECT_EQ(s.probabilities_shape, (std::vector<int32_t>{2, 12, -160, s.rows, 1}));
  for (size_t i = 0; i < 160; ++i) {
    for (size_t key = 0; key < 12; ++key)
      ASSERT_EQ(a.probabilities[(11 - key) * 160 + i],
                position_of(i % 20) + static_cast<float>(key) / 1000);
  }
}

TEST(Outputs, RowStridesOfEach) {
  Attention a(kEvery);
  for (auto* rows : {&a.lse, &a.row_max, &a.row_sum}) rows->assign(2 * 4 * 20 * 3, -7);
  a.call.lse = tensor(a.lse.data(), {2, 4, 20, 1}, {240, 60, 3, 99});
  a.call.row_max = tensor(a.row_max.data() + 57, {2, 4, 20, 1}, {240, 60, -3, 99});
  a.call.row_sum = tensor(a.row_sum.data(), {2, 4, 20, 1}, {1, 2, 8, 99});
  for (const Seen& s : run(a)) {
    EXPECT_EQ(s.lse_stride, 3);
    EXPECT_EQ(s.row_max_stride, -3);
    EXPECT_EQ(s.row_sum_stride, 8);
  }
  for (size_t i = 0; i < 480; ++i) {
    const size_t row = i / 3 % 20;
    ASSERT_EQ(a.lse[i], i % 3 == 0 ? position_of(row) : -7.0F);
    ASSERT_EQ(a.row_max[i], i % 3 == 0 ? position_of(19 - row) + 1000 : -7.0F);
    ASSERT_EQ(a.row_sum[i], i < 160 ? position_of(i / 8) + 2000 : -7.0F);
  }
}

TEST(Outputs, StridesOfSingleRowsAndKeysAreFree) {
  Attention a(kEvery, 1, 2, 1, 1, 1);
  for (auto field :
       {&fovea_call::lse, &fovea_call::row_max, &fovea_call::row_sum, &fovea_call::probabilities}) {
    (a.call.*field).stride[0] = (a.call.*field).stride[2] = (a.call.*field).stride[3] = INT64_MIN;
  }
  EXPECT_EQ(run(a).size(), 2U);
  EXPECT_EQ(a.probabilities, (std::vector<float>{0, 0}));
}

TEST(Outputs, WithoutKeysThereAreNoProbabilities) {
  Attention a(kEvery, 2, 4, 2, 20, 0);
  a.probabilities.assign(1, -7);
  a.call.probabilities.data = a.probabilities.data();
  for (const Seen& s : run(a)) {
    EXPECT_EQ(s.probabilities_shape[1], 0);
    EXPECT_EQ(s.probabilities_shape[3], s.rows);
    EXPECT_NE(s.probabilities, nullptr);  // null would ask Halide for bounds
  }
  EXPECT_EQ(a.probabilities[0], -7);
}

// The one-number outputs that nobody wants, each in memory of its own; probabilities never.
TEST(Outputs, UnwantedOnesGoToTheWorkspace) {
  fovea_tensor fovea_call::* const fields[] = {&fovea_call::lse, &fovea_call::row_max,
                                               &fovea_call::row_sum, &fovea_call::probabilities};
  for (unsigned wanted = 0; wanted < 16; ++wanted) {
    Attention a(kEvery);
    a.exec.threads = 2;
    size_t unwanted_rows = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if ((wanted >> i & 1U) != 0) continue;
      a.call.*fields[i] = fovea_tensor{};
      if (i < 3) ++unwanted_rows;
    }
    // 1000 bytes of scratch take 1024, 8 rows 64.
    const size_t slice = 1024 + unwanted_rows * 64;
    ASSERT_EQ(a.workspace(), 2 * slice + 63) << wanted;
    std::vector<unsigned char> memory(a.workspace());
    a.call.workspace = memory.data();
    a.call.workspace_size = memory.size();
    const auto records = run(a);
    ASSERT_EQ(records.size(), 24U);
    for (const Seen& s : records) {
      const void* rows[] = {s.lse, s.row_max, s.row_sum};
      for (unsigned i = 0; i < 3; ++i) {
        const auto* at = static_cast<const unsigned char*>(rows[i]);
        const bool in_workspace =
            at >= memory.data() && at + kBlockRows * 4 <= memory.data() + memory.size();
        EXPECT_EQ(in_workspace, (wanted >> i & 1U) == 0) << wanted;
        for (unsigned j = 0; j < i; ++j) {
          const auto distance = at - static_cast<const unsigned char*>(rows[j]);
          EXPECT_GE(std::abs(distance), kBlockRows * 4);
        }
      }
      EXPECT_EQ(s.probabilities_shape[1], (wanted & 8U) != 0 ? 12 : 0);
      EXPECT_EQ(s.probabilities_shape[3], s.rows);
      EXPECT_NE(s.probabilities, nullptr);
    }
    // What is wanted is right whatever else is not.
    for (size_t i = 0; i < 160; ++i) {
      ASSERT_EQ(a.lse[i], (wanted & 1U) != 0 ? position_of(i % 20) : -7);
      ASSERT_EQ(a.row_max[i], (wanted & 2U) != 0 ? position_of(i % 20) + 1000 : -7);
      ASSERT_EQ(a.row_sum[i], (wanted & 4U) != 0 ? position_of(i % 20) + 2000 : -7);
      ASSERT_EQ(a.probabilities[i * 12], (wanted & 8U) != 0 ? position_of(i % 20) : -7);
    }
  }
}

// A caller built against the header before these outputs existed: its structure ends earlier, and
// what lies behind it is not the runtime's business.
TEST(Outputs, CallsOfTheFirstVersionDoNotWantThem) {
  Attention a(kEvery);
  a.call.size = detail::kFirstCallSize;
  for (const Seen& s : run(a)) {
    EXPECT_NE(s.row_max, a.row_max.data());
    EXPECT_EQ(s.probabilities_shape[1], 0);
  }
  for (const auto* untouched : {&a.row_max, &a.row_sum, &a.probabilities}) {
    for (const float x : *untouched) ASSERT_EQ(x, -7);
  }
  EXPECT_EQ(a.lse[0], position_of(0));
}

TEST(Outputs, ACallMayEndBetweenThem) {
  Attention a(kEvery);
  a.call.size = offsetof(fovea_call, probabilities);
  for (const Seen& s : run(a)) EXPECT_EQ(s.probabilities_shape[1], 0);
  EXPECT_EQ(a.row_sum[0], position_of(0) + 2000);
  EXPECT_EQ(a.probabilities[0], -7);
}

TEST(Outputs, SlicesChangeTheDefaultScale) {
  Attention a(kEvery);
  for (const Seen& s : run(a)) EXPECT_EQ(s.scale, 0.70710678F);  // 1 / sqrt(4 / 2)
  a.call.scale = &a.scale;
  for (const Seen& s : run(a)) EXPECT_EQ(s.scale, 0.5F);
}

TEST(Outputs, AVariantWithoutSlicesIsRefused) {
  Attention a;
  std::vector<fovea_variant_info> variants(a.library.variants,
                                           a.library.variants + a.library.variant_count);
  for (auto& variant : variants) variant.slices = 0;
  a.library.variants = variants.data();
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_STREQ(fovea_last_message(), "variant plain has 0 slices: at least 1 is allowed");
}

TEST(Outputs, OneWantedOutputIsSomethingToDo) {
  // Without values there is no kernel; but only a call that wants nothing at all may say so.
  Attention a(kEvery);
  a.call.v.extent[3] = a.call.out.extent[3] = 0;
  a.every.value_feature.extent[0] = 0;
  a.call.lse = a.call.row_max = a.call.probabilities = fovea_tensor{};
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  a.call.row_sum = fovea_tensor{};
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
}

TEST(Outputs, TablesOfTheOtherAxes) {
  Attention a(kEvery);
  a.every.allowed.stride[0] = 0;
  for (const Seen& s : run(a)) {
    ASSERT_EQ(s.tables.size(), 5U);
    EXPECT_EQ(s.tables[0], (std::vector<int32_t>{1, 20, 1}));
    EXPECT_EQ(s.tables[1], (std::vector<int32_t>{1, 20, 1}));
    EXPECT_EQ(s.tables[2], (std::vector<int32_t>{1, 4, 1}));
    EXPECT_EQ(s.tables[3], (std::vector<int32_t>{1, 2, 1}));
    EXPECT_EQ(s.tables[4], (std::vector<int32_t>{2, 20, 0, 12, 1}));
    EXPECT_EQ(s.allowed_type[0], 1);  // Halide's unsigned integer
    EXPECT_EQ(s.allowed_type[1], 8);
  }
}

}  // namespace
}  // namespace fovea::test
