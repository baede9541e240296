// Merging: the formula, rows without keys, numbers that are none, memory, threads.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "fake_library.h"
#include "merge_case.h"

namespace fovea::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<fovea_dtype> same_type(size_t count, fovea_dtype dtype) {
  return std::vector<fovea_dtype>(count, dtype);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Merge, IsTheFormulaRoundedOnceInAnyLayout) {
  const std::pair<double, double> ranges[] = {{-1, 1},         {-40, 40},         {-1e3, 1e3},
                                              {99990, 100010}, {-100010, -99990}, {-3e38, 3e38}};
  for (uint64_t number = 0; number < 1500; ++number) {
    Random random("Merge", number);
    const Rows rows = {
        random.integer(1, 3), random.integer(1, 3), random.integer(0, 5),
        random.pick<int64_t>({0, 1, 2, 7, 16, 31, 32, 33, 64, 100, 511, 512, 513, 1100})};
    const auto any_type = [&] { return random.pick({FOVEA_F32, FOVEA_F16, FOVEA_BF16}); };
    std::vector<fovea_dtype> types =
        same_type(static_cast<size_t>(random.pick<int64_t>({0, 1, 2, 2, 3, 5, 30})), any_type());
    if (random.chance(0.3)) {
      for (fovea_dtype& type : types) type = any_type();
    }
    MergeCase merging(rows, types, any_type(), random);
    const auto [low, high] = ranges[random.integer(0, 5)];
    merging.fill(random, low, high);
    if (random.chance(0.5)) {
      for (StridedTensor& lse : merging.lses) {
        for (int64_t row = 0; row < rows.rows; ++row) {
          if (random.chance(0.4)) lse.at(0, 0, row) = -kInfinity;
        }
      }
    }
    if (random.chance(0.2)) merging.merged.lse = fovea_tensor{};
    merging.exec.threads = static_cast<int32_t>(random.integer(0, 3));
    ASSERT_EQ(merging.run(), FOVEA_OK) << number << ": " << fovea_last_message();
    ASSERT_EQ(merging.difference(), "") << number;
  }
}

TEST(Merge, ManyParts) {
  Random random("ManyParts", 0);
  MergeCase merging({1, 2, 3, 40}, same_type(2000, FOVEA_F32), FOVEA_F32);
  merging.fill(random, -3, 3);
  ASSERT_EQ(merging.run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(merging.difference(), "");
}

TEST(Merge, NothingIsARowWithoutKeys) {
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
    MergeCase merging({2, 1, 3, 5}, {}, dtype);
    ASSERT_EQ(merge(nullptr, 0, merging.merged).code(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(merging.difference(), "");
    EXPECT_EQ(merging.lse.at(1, 0, 2), -kInfinity);
    EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(merging.out.at(1, 0, 2, 4))), 0U);
  }
}

TEST(Merge, APartWithoutKeysIsNotRead) {
  const RowPart one = {{1, -0.0F, 3}, 2.5F};
  for (const float garbage : {kNan, kInfinity, 1e30F}) {
    const RowPart empty = {{garbage, garbage, garbage}, -kInfinity};
    for (const auto& parts : {std::vector{empty, one}, {one, empty}, {empty, one, empty}, {one}}) {
      const RowPart got = merged_row(parts);
      EXPECT_TRUE(same_bits(got.out, one.out));
      EXPECT_EQ(got.lse, one.lse);
    }
  }
}

TEST(Merge, APartAloneKeepsItsBits) {
  for (const fovea_dtype dtype : {FOVEA_F16, FOVEA_BF16}) {
    MergeCase merging({1, 1, 64, 1024}, {dtype}, dtype);
    auto* bits = static_cast<uint16_t*>(merging.parts[0].out.data);
    for (size_t i = 0; i < 65536; ++i) bits[i] = static_cast<uint16_t>(i);
    for (int64_t row = 0; row < 64; ++row) merging.lses[0].at(0, 0, row) = -3.25F;
    ASSERT_EQ(merging.run(), FOVEA_OK) << fovea_last_message();
    const auto* got = static_cast<const uint16_t*>(merging.merged.out.data);
    for (size_t i = 0; i < 65536; ++i) {
      if (std::isnan(load_element(bits + i, dtype))) {
        EXPECT_TRUE(std::isnan(load_element(got + i, dtype))) << i;
      } else {
        EXPECT_EQ(got[i], bits[i]) << i;
      }
    }
  }
  const RowPart row = {{1e-45F, -0.0F, 1.5e-38F, -3.4e38F, 0.1F}, -88.5F};
  EXPECT_TRUE(same_bits(merged_row({row}).out, row.out));
  EXPECT_EQ(merged_row({row}).lse, -88.5F);
}

// Two equal numbers have them as their mean, however large or small.
TEST(Merge, NeitherOverflowsNorVanishes) {
  for (const float x : {std::numeric_limits<float>::max(), std::numeric_limits<float>::min(),
                        std::numeric_limits<float>::denorm_min(), 65504.0F}) {
    for (const float lse : {0.0F, -1e5F, 1e5F, 3e38F, -3e38F}) {
      const RowPart got = merged_row({{{x, -x}, lse}, {{x, -x}, lse}});
      EXPECT_EQ(got.out[0], x);
      EXPECT_EQ(got.out[1], -x);
      EXPECT_EQ(got.lse, static_cast<float>(static_cast<double>(lse) + std::log(2.0)));
    }
  }
}

TEST(Merge, NanReachesItsRowAndFeatureOnly) {
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
    Random random("NanReaches", static_cast<uint64_t>(dtype));
    MergeCase merging({1, 2, 4, 70}, same_type(3, dtype), dtype);
    merging.fill(random, -2, 2);
    merging.lses[0].at(0, 1, 2) = -2000;  // weighs exactly 0
    merging.outs[0].at(0, 0, 1, 33) = kNan;
    merging.outs[0].at(0, 1, 2, 69) = kNan;
    merging.outs[2].at(0, 1, 3, 0) = kInfinity;
    merging.outs[0].at(0, 1, 2, 0) = kInfinity;  // 0 times infinity
    merging.outs[0].at(0, 0, 0, 5) = kInfinity;
    merging.outs[1].at(0, 0, 0, 5) = -kInfinity;
    ASSERT_EQ(merging.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(merging.difference(), "");
    int nan = 0, infinite = 0;
    for (const float x : merging.results()) nan += std::isnan(x), infinite += std::isinf(x);
    EXPECT_EQ(nan, 4);
    EXPECT_EQ(infinite, 1);
  }
}

TEST(Merge, AnLseThatIsNoneSpoilsItsRowOnly) {
  for (const float bad : {kNan, -kNan, kInfinity}) {
    for (size_t part = 0; part < 3; ++part) {
      Random random("AnLse", part);
      MergeCase merging({1, 1, 3, 20}, same_type(3, FOVEA_F32), FOVEA_F32);
      merging.fill(random, -2, 2);
      if (part == 1) merging.lses[0].at(0, 0, 1) = -kInfinity;
      merging.lses[part].at(0, 0, 1) = bad;
      ASSERT_EQ(merging.run(), FOVEA_OK) << fovea_last_message();
      EXPECT_EQ(merging.difference(), "");
      int nan = 0;
      for (const float x : merging.results()) nan += std::isnan(x);
      EXPECT_EQ(nan, 21);
      EXPECT_TRUE(std::isnan(static_cast<float>(merging.lse.at(0, 0, 1))));
    }
  }
}

TEST(Merge, TheResultMayLieInAPart) {
  for (const fovea_dtype dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
    for (const int64_t features : {1, 31, 64, 600, 1300}) {  // 1300: chunk by chunk
      const auto make = [&] {
        Random random("InPlace", static_cast<uint64_t>(features));
        auto merging =
            std::make_unique<MergeCase>(Rows{2, 2, 3, features}, same_type(3, dtype), dtype);
        merging->fill(random, -3, 3);
        return merging;
      };
      const auto apart = make();
      ASSERT_EQ(apart->run(), FOVEA_OK) << fovea_last_message();
      const std::vector<float> expected = apart->results();
      for (size_t i = 0; i < 3; ++i) {
        for (size_t j = 0; j < 4; ++j) {  // 3: an LSE of its own
          const auto in_place = make();
          in_place->out = in_place->outs[i];
          in_place->merged.out = in_place->parts[i].out;
          if (j < 3) {
            in_place->lse = in_place->lses[j];
            in_place->merged.lse = in_place->parts[j].lse;
          }
          ASSERT_EQ(in_place->run(), FOVEA_OK) << fovea_last_message();
          EXPECT_TRUE(same_bits(in_place->results(), expected)) << i << ' ' << j;
        }
      }
    }
  }
}

// Tasks in an order and on threads that nobody expects.
int backwards(void*, int32_t count, fovea_task task, void* closure) {
  int code = 0;
  for (int32_t i = count; i-- > 0;) code = std::max(code, task(closure, i));
  return code;
}

TEST(Merge, SameBitsForAnyNumberOfThreads) {
  const auto make = [] {
    Random random("Threads", 0);
    auto merging =
        std::make_unique<MergeCase>(Rows{3, 2, 701, 64}, same_type(3, FOVEA_F32), FOVEA_F16);
    merging->fill(random, -3, 3);
    return merging;
  };
  const auto serial = make();
  serial->exec.threads = 1;
  ASSERT_EQ(serial->run(), FOVEA_OK) << fovea_last_message();
  EXPECT_EQ(serial->difference(), "");
  const std::vector<float> expected = serial->results();
  for (const int32_t threads : {0, 2, 3, 16, 5000}) {
    for (const bool has_hook : {false, true}) {
      const auto parallel = make();
      parallel->exec.threads = threads;
      if (has_hook) parallel->exec.parallel_for = backwards;
      ASSERT_EQ(parallel->run(), FOVEA_OK) << fovea_last_message();
      EXPECT_TRUE(same_bits(parallel->results(), expected)) << threads;
    }
  }
}

TEST(Merge, FewRowsStayOnTheCallingThread) {
  MergeCase few({1, 8, 4, 64}, same_type(4, FOVEA_F32), FOVEA_F32);
  MergeCase many({1, 8, 512, 64}, same_type(4, FOVEA_F32), FOVEA_F32);
  few.exec.threads = many.exec.threads = 3;
  const int before = pool_calls();
  ASSERT_EQ(few.run(), FOVEA_OK);
  EXPECT_EQ(pool_calls(), before);
  ASSERT_EQ(many.run(), FOVEA_OK);
  EXPECT_EQ(pool_calls(), before + 1);
  EXPECT_EQ(pool_tasks(), 3);
  many.exec.threads = 1;
  ASSERT_EQ(many.run(), FOVEA_OK);
  EXPECT_EQ(pool_calls(), before + 1);
}

TEST(Merge, AHookThatFailsIsAnError) {
  MergeCase merging({1, 8, 512, 64}, same_type(2, FOVEA_F32), FOVEA_F32);
  merging.exec.threads = 3;
  merging.exec.parallel_for = [](void*, int32_t, fovea_task, void*) { return 42; };
  EXPECT_EQ(merging.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(fovea_last_message(), "exec.parallel_for returned 42 while merging");
  merging.exec.parallel_for = [](void*, int32_t, fovea_task task, void* closure) {
    return task(closure, 0);
  };
  EXPECT_EQ(merging.run(), FOVEA_KERNEL_FAILED);
  EXPECT_STREQ(fovea_last_message(), "exec.parallel_for ran 1 of 3 tasks of a merge");
}

TEST(Merge, InStagesIsTheSameUpToRounding) {
  Random random("InStages", 0);
  std::vector<RowPart> parts(6);
  for (RowPart& part : parts) {
    for (int d = 0; d < 40; ++d) part.out.push_back(random.normal());
    part.lse = static_cast<float>(random.real(-5, 5));
  }
  const RowPart at_once = merged_row(parts);
  const RowPart left = merged_row({parts[0], parts[1], parts[2]});
  const RowPart staged = merged_row({merged_row({parts[5], parts[4], parts[3]}), left});
  for (size_t d = 0; d < 40; ++d) EXPECT_NEAR(staged.out[d], at_once.out[d], 1e-6);
  EXPECT_NEAR(staged.lse, at_once.lse, 1e-6);
}

// A sink is a key without a value: a part of zeros whose LSE is the sink's logit, for every row.
TEST(Merge, ASinkIsAPart) {
  const float zeros[3] = {};
  const float sinks[2] = {0.5F, -1};  // of the heads
  const float out[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const float lse[4] = {0, 1, 2, -kInfinity};
  float merged_out[12], merged_lse[4];
  const fovea_partial parts[] = {
      {tensor(out, {1, 2, 2, 3}), tensor(lse, {1, 2, 2, 1})},
      {tensor(zeros, {1, 2, 2, 3}, {0, 0, 0, 1}), tensor(sinks, {1, 2, 2, 1}, {0, 1, 0, 1})}};
  const Status status =
      merge(parts, {tensor(merged_out, {1, 2, 2, 3}), lse_tensor(merged_lse, 1, 2, 2)});
  ASSERT_TRUE(status.ok()) << status.message();
  for (int row = 0; row < 4; ++row) {
    const double total =
        std::exp(static_cast<double>(lse[row])) + std::exp(static_cast<double>(sinks[row / 2]));
    EXPECT_NEAR(merged_lse[row], std::log(total), 1e-6);
    for (int d = 0; d < 3; ++d) {
      const int at = row * 3 + d;
      const double expected =
          row == 3 ? 0
                   : std::exp(static_cast<double>(lse[row])) * static_cast<double>(out[at]) / total;
      EXPECT_NEAR(merged_out[at], expected, 1e-6);
    }
  }
}

// Reported faults of other libraries; the link leads to the report, RowN is its number in the
// collection that the tests of kernels come from, too.

// https://github.com/flashinfer-ai/flashinfer/pull/4401: no finite number stands for minus infinity
TEST(MergeBank, Row14LogitsBelowAnySentinel) {
  for (const float logit : {-1e5F, -5e4F, -1e10F, -0.9e29F}) {
    const RowPart got = merged_row({{{1}, logit}, {{3}, logit}});
    EXPECT_EQ(got.out[0], 2);
    if (logit == -1e5F) {
      EXPECT_NEAR(got.lse, -99999.307, 0.01);
    }
  }
}

// https://github.com/flashinfer-ai/flashinfer/issues/4051
TEST(MergeBank, Row113TwoEmptyPartsAreEmpty) {
  const RowPart empty = {{0, 0}, -kInfinity};
  const RowPart got = merged_row({empty, empty});
  EXPECT_EQ(got.out, (std::vector<float>{0, 0}));
  EXPECT_EQ(got.lse, -kInfinity);
}

// https://github.com/Dao-AILab/flash-attention/pull/978: an LSE of +infinity for a row without keys
// would swallow the other part in silence
TEST(MergeBank, Row115PlusInfinityIsNotEmpty) {
  const RowPart part = {{4}, 1};
  EXPECT_TRUE(std::isnan(merged_row({part, {{0}, kInfinity}}).out[0]));
  EXPECT_EQ(merged_row({part, {{0}, -kInfinity}}).out[0], 4);
}

// https://github.com/sgl-project/sglang/pull/35045: one key of four apart, all scores 0
TEST(MergeBank, Row116TheLogarithmIsNatural) {
  const RowPart got = merged_row({{{1}, 0}, {{3}, std::log(3.0F)}});
  EXPECT_FLOAT_EQ(got.out[0], 2.5F);
  EXPECT_NEAR(got.lse, std::log(4.0), 2e-7);
}

// https://github.com/LMCache/LMCache/pull/3092: rows that no item's size divides
TEST(MergeBank, Row118TheLastRowIsMerged) {
  for (const int64_t rows : {33, 511, 1000, 1001}) {
    Random random("LastRow", static_cast<uint64_t>(rows));
    MergeCase merging({1, 1, rows, 33}, same_type(2, FOVEA_F32), FOVEA_F32);
    merging.fill(random, -1, 1);
    merging.exec.threads = 2;
    ASSERT_EQ(merging.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(merging.difference(), "") << rows;
  }
}

}  // namespace
}  // namespace fovea::test
