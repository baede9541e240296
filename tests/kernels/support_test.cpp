// support_test.cpp: the instruments themselves: unreadable pages, layouts, the comparison.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

// One row of one feature.
std::string compare_one(double got, double expected, double plain, double magnitude = 1) {
  const Expected e{1, 1, 1, 1, {1}, {expected}, {0}, {plain}, {0}, {magnitude}, 0};
  return compare({1, 1, 1, 1, {static_cast<float>(got)}, {}}, e);
}

TEST(Comparison, AllowsTwiceTheErrorOfPlainF32) {
  EXPECT_EQ(compare_one(1.0 + 0x1p-10, 1.0, 1.0 + 0x1p-11), "");
  EXPECT_NE(compare_one(1.0 + 0x1p-9, 1.0, 1.0 + 0x1p-11), "");
}

TEST(Comparison, AllowsOnlyAFewUnitsWherePlainF32IsRight) {
  EXPECT_EQ(compare_one(1.0 + 0x1p-21, 1.0, 1.0), "");
  EXPECT_NE(compare_one(1.0 + 0x1p-18, 1.0, 1.0), "");
  // Against the magnitude, not against a value in which large numbers cancel.
  EXPECT_EQ(compare_one(0x1p-21, 0.0, 0.0), "");
  EXPECT_NE(compare_one(0x1p-21, 0.0, 0.0, 0x1p-10), "");
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

TEST(Comparison, SeesTheLse) {
  const Expected e{1, 1, 1, 1, {1}, {1}, {-inf}, {1}, {-inf}, {1}, 0};
  EXPECT_EQ(compare({1, 1, 1, 1, {1.0f}, {-INFINITY}}, e), "");
  EXPECT_NE(compare({1, 1, 1, 1, {1.0f}, {INFINITY}}, e), "");
  EXPECT_NE(compare({1, 1, 1, 1, {1.0f}, {-1e30f}}, e), "");
}

TEST(Comparison, RowsThatDoNotCountMayHoldAnything) {
  const Expected e{1, 1, 2, 1, {1, 0}, {1, nan}, {0, nan}, {1, nan}, {0, nan}, {1, nan}, 0};
  EXPECT_EQ(compare({1, 1, 2, 1, {1.0f, 7.0f}, {}}, e), "");
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
    const StridedTensor t({2, 3, 4, 5}, layout);
    float next = 0;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t row = 0; row < 4; ++row)
          for (int64_t d = 0; d < 5; ++d) t.at(b, h, row, d) = next++;
    next = 0;
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t row = 0; row < 4; ++row)
          for (int64_t d = 0; d < 5; ++d) ASSERT_EQ(t.at(b, h, row, d), next++) << layout.text();
    EXPECT_TRUE(t.memory()->untouched_outside()) << layout.text();
    const auto* last = reinterpret_cast<float*>(t.memory()->data() + t.memory()->size()) - 1;
    EXPECT_FALSE(std::isnan(*last)) << layout.text();
  }
}

}  // namespace
}  // namespace fovea::test
