// support_test.cpp: the instruments themselves: unreadable pages, layouts, the comparison.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

// Rows of one feature; an LSE of 0 each.
Expected expected_rows(const std::vector<double>& out, const std::vector<double>& plain,
                       double magnitude = 1) {
  Expected e;
  e.rows = static_cast<int64_t>(out.size());
  e.batch = e.heads = e.d_v = e.keys = 1;
  e.out = out;
  e.out_magnitude.assign(out.size(), magnitude);
  e.lse.assign(out.size(), 0);
  e.score_magnitude.assign(out.size(), 0);
  e.computed.assign(out.size(), 1);
  e.plain = e;
  e.plain.out = plain;
  return e;
}

Results got_rows(const std::vector<float>& out) {
  Results r;
  r.rows = static_cast<int64_t>(out.size());
  r.batch = r.heads = r.d_v = r.keys = 1;
  r.out = out;
  return r;
}

std::string compare_one(double got, double expected, double plain, double magnitude = 1) {
  return compare(got_rows({static_cast<float>(got)}),
                 expected_rows({expected}, {plain}, magnitude));
}

TEST(Comparison, AllowsTwiceTheErrorOfThePlainEvaluation) {
  EXPECT_EQ(compare_one(1.0 + 0x1p-10, 1.0, 1.0 + 0x1p-11), "");
  EXPECT_NE(compare_one(1.0 + 0x1p-9, 1.0, 1.0 + 0x1p-11), "");
}

TEST(Comparison, AllowsOnlyAFewUnitsWhereThePlainEvaluationIsRight) {
  EXPECT_EQ(compare_one(1.0 + 0x1p-21, 1.0, 1.0), "");
  EXPECT_NE(compare_one(1.0 + 0x1p-18, 1.0, 1.0), "");
  // Against the magnitude, not against a value in which large numbers cancel.
  EXPECT_EQ(compare_one(0x1p-21, 0.0, 0.0), "");
  EXPECT_NE(compare_one(0x1p-21, 0.0, 0.0, 0x1p-10), "");
}

TEST(Comparison, AllowsWhatSixteenBitsCannotHold) {
  for (const fovea_dtype dtype : {FOVEA_F16, FOVEA_BF16}) {
    const double h = unit_roundoff(dtype);
    const auto error_in = [&](std::vector<float> Results::* output,
                              std::vector<double> ReferenceResult::* wanted, double error) {
      Expected e = expected_rows({1}, {1});
      e.*wanted = e.plain.*wanted = {1};
      Results r = got_rows({1});
      r.dtype = dtype;
      r.*output = {static_cast<float>(1 + error)};
      return compare(r, e);
    };
    EXPECT_EQ(error_in(&Results::out, &ReferenceResult::out, 2.9 * h), "");
    EXPECT_NE(error_in(&Results::out, &ReferenceResult::out, 3.2 * h), "");
    // What is f32 in every call has the tolerance of f32.
    EXPECT_EQ(error_in(&Results::lse, &ReferenceResult::lse, 0x1p-21), "");
    EXPECT_NE(error_in(&Results::lse, &ReferenceResult::lse, 0x1p-18), "");
  }
}

TEST(Comparison, BeyondTheLargestHalfIsInfinity) {
  const auto in_f16 = [](double got, double wanted) {
    Results r = got_rows({static_cast<float>(got)});
    r.dtype = FOVEA_F16;
    return compare(r, expected_rows({wanted}, {wanted}, std::abs(wanted)));
  };
  EXPECT_EQ(in_f16(inf, 70000), "");
  EXPECT_EQ(in_f16(-inf, -70000), "");
  EXPECT_NE(in_f16(65504, 70000), "");
  EXPECT_NE(in_f16(-inf, 70000), "");
  EXPECT_NE(in_f16(nan, 70000), "");
  EXPECT_NE(in_f16(inf, 65000), "");
  EXPECT_EQ(in_f16(65504, 65505), "");
  // Half a unit of the smallest number, whatever the size of what was rounded.
  EXPECT_EQ(in_f16(0, 0x1p-26), "");
  EXPECT_NE(in_f16(0x1p-22, 0x1p-26), "");
}

TEST(Comparison, AnEmptyRowIsExactlyZero) {
  EXPECT_EQ(compare_one(0.0, 0.0, 0.0, 0.0), "");
  EXPECT_NE(compare_one(1e-30, 0.0, 0.0, 0.0), "");
}

TEST(Comparison, NanAndInfinityStandWhereTheyAreExpected) {
  EXPECT_EQ(compare_one(nan, nan, nan), "");
  EXPECT_EQ(compare_one(-inf, -inf, -inf), "");
  EXPECT_NE(compare_one(0.0, nan, nan), "");
  EXPECT_NE(compare_one(nan, 0.0, 0.0), "");
  EXPECT_NE(compare_one(inf, nan, nan), "");
  EXPECT_NE(compare_one(inf, -inf, -inf), "");
  EXPECT_NE(compare_one(inf, 1.0, 1.0), "");
  EXPECT_NE(compare_one(3e38, inf, inf), "");
}

TEST(Comparison, SeesEveryOutput) {
  const std::pair<std::vector<float> Results::*, std::vector<double> ReferenceResult::*> outputs[] =
      {{&Results::lse, &ReferenceResult::lse},
       {&Results::row_max, &ReferenceResult::row_max},
       {&Results::row_sum, &ReferenceResult::row_sum},
       {&Results::probabilities, &ReferenceResult::probabilities}};
  for (const auto& [got, wanted] : outputs) {
    Expected e = expected_rows({1}, {1});
    e.row_sum_magnitude = e.probability_magnitude = {1};
    e.*wanted = e.plain.*wanted = {-inf};
    Results r = got_rows({1});
    r.*got = {-INFINITY};
    EXPECT_EQ(compare(r, e), "");
    r.*got = {INFINITY};
    EXPECT_NE(compare(r, e), "");
    r.*got = {-1e30f};
    EXPECT_NE(compare(r, e), "");
    e.*wanted = e.plain.*wanted = {0.5};
    r.*got = {0.5f + 0x1p-21f};
    EXPECT_EQ(compare(r, e), "");
    r.*got = {0.5f + 0x1p-18f};
    EXPECT_NE(compare(r, e), "");
  }
}

TEST(Comparison, RowsThatDoNotCountMayHoldAnything) {
  Expected e = expected_rows({1, nan}, {1, nan});
  e.computed[1] = 0;
  EXPECT_EQ(compare(got_rows({1.0f, 7.0f}), e), "");
}

TEST(GuardedMemoryDeathTest, BothEndsAreUnreadable) {
  const GuardedMemory at_end(12, Edge::End), at_start(12, Edge::Start);
  const auto read = [](const unsigned char* p) {
    const volatile unsigned char* forced = p;
    return *forced;
  };
  EXPECT_EQ(read(at_end.data() + 11), 0xff);
  EXPECT_DEATH(read(at_end.data() + 12), "");
  EXPECT_EQ(read(at_start.data()), 0xff);
  EXPECT_DEATH(read(at_start.data() - 1), "");
}

TEST(GuardedMemory, NoticesWritesBesideTheData) {
  const GuardedMemory memory(12, Edge::End, 4);
  memory.data()[0] = memory.data()[11] = 0;
  EXPECT_TRUE(memory.untouched_outside());
  memory.data()[12] = 0;
  EXPECT_FALSE(memory.untouched_outside());
}

TEST(StridedTensor, EveryElementHasItsPlaceAndTheLastOneTouchesTheEdge) {
  Random random("strided tensor", 0);
  for (int i = 0; i < 200; ++i) {
    const Layout layout = random_layout(random, false);
    const fovea_dtype dtype = random.pick({FOVEA_F32, FOVEA_F16, FOVEA_BF16});
    const StridedTensor t(dtype, {2, 3, 4, 5}, layout);
    float next = 0;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t row = 0; row < 4; ++row)
          for (int64_t d = 0; d < 5; ++d) t.at(b, h, row, d) = next++;
    next = 0;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t row = 0; row < 4; ++row)
          for (int64_t d = 0; d < 5; ++d)
            ASSERT_EQ(static_cast<float>(t.at(b, h, row, d)), next++) << layout.text();
    EXPECT_TRUE(t.memory()->untouched_outside()) << layout.text();
    const unsigned char* end = t.memory()->data() + t.memory()->size();
    EXPECT_FALSE(std::isnan(load_element(end - element_size(dtype), dtype))) << layout.text();
  }
}

}  // namespace
}  // namespace fovea::test
