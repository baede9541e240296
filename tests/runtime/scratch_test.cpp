// The scratch stack: alignment, limits, releases in any order.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "fake_library.h"

namespace fovea::test {
namespace {

struct Scratch {
  explicit Scratch(size_t size, size_t misalignment = 0) : memory(size + 128) {
    const size_t start = 64 - reinterpret_cast<uintptr_t>(memory.data()) % 64 + misalignment;
    stack = {memory.data() + start, size, 0, nullptr};
  }
  unsigned char* allocate(size_t size) {
    return static_cast<unsigned char*>(fovea_scratch_allocate(&stack, size));
  }
  void release(void* piece) { fovea_scratch_release(&stack, piece); }

  std::vector<unsigned char> memory;
  fovea_scratch stack;
};

TEST(Scratch, PiecesAreAlignedAndCostTheirSizePlusOneLine) {
  Scratch s(4 * 128);
  for (int i = 0; i < 4; ++i) {
    unsigned char* piece = s.allocate(1 + static_cast<size_t>(i) * 21);
    ASSERT_NE(piece, nullptr) << i;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 64, 0U);
  }
  EXPECT_EQ(s.allocate(64), nullptr);
}

TEST(Scratch, ExactFitAndOneByteMore) {
  Scratch s(64 + 1000);
  EXPECT_EQ(s.allocate(1001), nullptr);
  unsigned char* piece = s.allocate(1000);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(s.allocate(0), nullptr);
  s.release(piece);
  EXPECT_EQ(s.stack.used, 0U);
  EXPECT_EQ(s.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(s.allocate(SIZE_MAX - 64), nullptr);
  EXPECT_EQ(s.allocate(1000), piece);
}

TEST(Scratch, EmptyPiecesHaveAddresses) {
  Scratch s(1000, 8);
  unsigned char* a = s.allocate(0);
  unsigned char* b = s.allocate(0);
  EXPECT_NE(a, nullptr);
  EXPECT_NE(b, nullptr);
  EXPECT_NE(a, b);
}

TEST(Scratch, ReleaseBelowALivePieceKeepsTheLiveOne) {
  Scratch s(4096);
  unsigned char* a = s.allocate(100);
  unsigned char* b = s.allocate(100);
  s.release(a);
  unsigned char* c = s.allocate(100);
  EXPECT_GE(c, b + 100);
  s.release(c);
  s.release(b);
  EXPECT_EQ(s.stack.used, 0U);
  EXPECT_EQ(s.stack.last, nullptr);
}

TEST(Scratch, NothingToReleaseNowhereToAllocate) {
  Scratch s(256);
  s.release(nullptr);
  EXPECT_EQ(fovea_scratch_allocate(nullptr, 8), nullptr);
  fovea_scratch_release(nullptr, nullptr);
  fovea_scratch empty = {};
  EXPECT_EQ(fovea_scratch_allocate(&empty, 8), nullptr);
}

TEST(Scratch, RandomOrderNeverOverlaps) {
  std::mt19937 random(7);
  Scratch s(1 << 16, 24);
  struct Piece {
    unsigned char* at;
    size_t size;
    unsigned char mark;
  };
  std::vector<Piece> live;
  unsigned char mark = 0;
  for (int step = 0; step < 20000; ++step) {
    const size_t size = random() % 3000;
    unsigned char* piece = random() % 2 == 0 ? s.allocate(size) : nullptr;
    if (piece != nullptr) {
      std::memset(piece, ++mark, size);
      live.push_back({piece, size, mark});
    } else if (!live.empty()) {
      const size_t which = random() % live.size();
      for (size_t i = 0; i < live[which].size; ++i) ASSERT_EQ(live[which].at[i], live[which].mark);
      s.release(live[which].at);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(live.empty(), s.stack.last == nullptr);
    ASSERT_TRUE(!live.empty() || s.stack.used == 0) << step;
  }
}

}  // namespace
}  // namespace fovea::test
