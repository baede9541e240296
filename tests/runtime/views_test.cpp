// Distinctness and overlap of strided views, against sets of addresses.
// SPDX-License-Identifier: Apache-2.0
#include "views.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace fovea::test {
namespace {

using detail::View;

View view_at(uintptr_t base, std::initializer_list<int64_t> extent,
             std::initializer_list<int64_t> stride) {
  View view = {
      "view", reinterpret_cast<const void*>(base), 4, static_cast<int32_t>(extent.size()), {}, {}};
  std::copy(extent.begin(), extent.end(), view.extent);
  std::copy(stride.begin(), stride.end(), view.stride);
  return view;
}

// First byte of every element; `repeats` tells whether two index tuples met.
std::set<uint64_t> elements_of(const View& view, bool* repeats) {
  std::set<uint64_t> elements;
  *repeats = false;
  int64_t e[4] = {1, 1, 1, 1};
  for (int axis = 0; axis < view.rank; ++axis) e[axis] = view.extent[axis];
  for (int64_t a = 0; a < e[0]; ++a) {
    for (int64_t b = 0; b < e[1]; ++b) {
      for (int64_t c = 0; c < e[2]; ++c) {
        for (int64_t d = 0; d < e[3]; ++d) {
          const int64_t at =
              a * view.stride[0] + b * view.stride[1] + c * view.stride[2] + d * view.stride[3];
          const uint64_t address =
              reinterpret_cast<uintptr_t>(view.data) + static_cast<uint64_t>(at * 4);
          *repeats = !elements.insert(address).second || *repeats;
        }
      }
    }
  }
  return elements;
}

TEST(Views, NeverCallOverlapsDisjointNorRepeatsDistinct) {
  std::mt19937 random(20240611);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int said_disjoint = 0;
  int were_disjoint = 0;
  for (int round = 0; round < 20000; ++round) {
    View views[2];
    std::set<uint64_t> elements[2];
    for (int i = 0; i < 2; ++i) {
      views[i] = view_at(static_cast<uintptr_t>(100000 + 4 * pick(0, 60)),
                         {pick(1, 3), pick(1, 3), pick(1, 4), pick(1, 4)},
                         {pick(-40, 40), pick(-20, 20), pick(-12, 12), 1});
      bool repeats = false;
      elements[i] = elements_of(views[i], &repeats);
      EXPECT_FALSE(repeats && elements_are_distinct(views[i])) << round;
      int64_t low = 0;
      int64_t high = 0;
      ASSERT_TRUE(byte_reach(views[i], &low, &high));
      const auto base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(views[i].data));
      EXPECT_EQ(base + low, static_cast<int64_t>(*elements[i].begin()));
      EXPECT_EQ(base + high, static_cast<int64_t>(*elements[i].rbegin()) + 4);
    }
    bool meet = false;
    for (const uint64_t address : elements[0]) meet = meet || elements[1].count(address) != 0;
    were_disjoint += meet ? 0 : 1;
    if (!are_disjoint(views[0], views[1])) continue;
    ++said_disjoint;
    ASSERT_FALSE(meet) << round;
    ASSERT_TRUE(are_disjoint(views[1], views[0])) << round;
  }
  // Random strides often miss each other by luck, which need not be seen; plain cases must be.
  EXPECT_GT(said_disjoint, were_disjoint / 3);
}

TEST(Views, SeeThroughPackedLayouts) {
  // [batch 2, row 5, part 3, head 2, feature 4] and [batch 2, head 2, row 5, part 3, feature 4].
  const auto by_row = [](int64_t part) {
    return view_at(4096 + static_cast<uintptr_t>(part) * 32, {2, 2, 5, 4}, {120, 4, 24, 1});
  };
  const auto by_head = [](int64_t part) {
    return view_at(4096 + static_cast<uintptr_t>(part) * 16, {2, 2, 5, 4}, {120, 60, 12, 1});
  };
  for (int64_t a = 0; a < 3; ++a) {
    for (int64_t b = 0; b < 3; ++b) {
      EXPECT_EQ(are_disjoint(by_row(a), by_row(b)), a != b);
      EXPECT_EQ(are_disjoint(by_head(a), by_head(b)), a != b);
    }
  }
}

TEST(Views, LayoutsOfPermutedAndPaddedArraysAreDistinct) {
  EXPECT_TRUE(elements_are_distinct(view_at(4096, {2, 3, 5, 4}, {60, 20, 4, 1})));
  EXPECT_TRUE(elements_are_distinct(view_at(4096, {2, 3, 5, 4}, {60, 4, 12, 1})));
  EXPECT_TRUE(elements_are_distinct(view_at(4096, {2, 3, 5, 4}, {1000, -7, 90, 1})));
  EXPECT_TRUE(elements_are_distinct(view_at(4096, {1, 1, 5, 1}, {0, 0, -1, 0})));
  EXPECT_FALSE(elements_are_distinct(view_at(4096, {2, 3, 5, 4}, {60, 20, 3, 1})));
  EXPECT_FALSE(elements_are_distinct(view_at(4096, {2, 3, 5, 4}, {0, 20, 4, 1})));
  EXPECT_TRUE(elements_are_distinct(view_at(4096, {2, 0, 5, 4}, {0, 0, 0, 0})));
}

TEST(Views, HugeStridesNeitherWrapNorPass) {
  int64_t low = 0;
  int64_t high = 0;
  EXPECT_FALSE(byte_reach(view_at(4096, {2, 1, 1, 1}, {INT64_MAX, 0, 0, 0}), &low, &high));
  EXPECT_FALSE(byte_reach(view_at(4096, {2, 1, 1, 1}, {INT64_MIN, 0, 0, 0}), &low, &high));
  EXPECT_FALSE(byte_reach(view_at(4096, {INT64_MAX, 1, 1, 1}, {2, 0, 0, 0}), &low, &high));
  EXPECT_FALSE(
      byte_reach(view_at(4096, {3, 3, 1, 1}, {INT64_MAX / 8, INT64_MAX / 8, 0, 0}), &low, &high));
  EXPECT_FALSE(byte_reach(view_at(4096, {2, 1, 1, 1}, {-1025, 0, 0, 0}), &low, &high));
  EXPECT_TRUE(byte_reach(view_at(4096, {2, 1, 1, 1}, {-1024, 0, 0, 0}), &low, &high));
  EXPECT_EQ(low, -4096);
  EXPECT_FALSE(byte_reach(view_at(UINTPTR_MAX - 7, {3, 1, 1, 1}, {1, 0, 0, 0}), &low, &high));
  EXPECT_TRUE(
      byte_reach(view_at(4096, {0, 9, 9, 9}, {INT64_MAX, INT64_MAX, INT64_MAX, 1}), &low, &high));
}

}  // namespace
}  // namespace fovea::test
