// tile_counts_test.cpp: the tiles of a call, against counting by hand and by the mask itself.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/tile_counts.h"

#include <fovea/dsl.h>
#include <fovea/dsl/example.h>
#include <gtest/gtest.h>

namespace fovea {
namespace {

ExampleShape shape_of(int64_t q_len, int64_t kv_len, int64_t batch = 1, int64_t heads = 1,
                      int64_t kv_heads = 1) {
  return {batch, heads, kv_heads, q_len, kv_len, 64, 64};
}

TileCounts counts_of(const Variant& v, const ExampleShape& shape, int block_rows, int key_block) {
  const ExampleParameters example(v, shape);
  return count_tiles(v, tile_status(v, block_rows, key_block), example.values(), shape);
}

void expect_counts(const TileCounts& c, int64_t full, int64_t partial, int64_t skipped) {
  EXPECT_EQ(c.full, full);
  EXPECT_EQ(c.partial, partial);
  EXPECT_EQ(c.skipped, skipped);
  EXPECT_EQ(c.tiles, full + partial + skipped);
}

TEST(TileCounts, CausalByHand) {
  Variant v("causal");
  v.keep(masks::causal());
  // Four tiles a side: the diagonal is partial.
  const TileCounts c = counts_of(v, shape_of(64, 64), 16, 16);
  expect_counts(c, 6, 4, 6);
  EXPECT_TRUE(c.has_best);
  EXPECT_EQ(c.best_full, 6);
  EXPECT_EQ(c.best_partial, 4);
  EXPECT_EQ(c.best_skipped, 6);
  // Two sequences of four heads each.
  expect_counts(counts_of(v, shape_of(64, 64, 2, 4, 2), 16, 16), 8 * 6, 8 * 4, 8 * 6);
  // One query at the end sees everything; the last block holds 4 of 16 keys.
  expect_counts(counts_of(v, shape_of(1, 68), 16, 16), 4, 1, 0);
}

TEST(TileCounts, WithoutAMaskOnlyTheLastBlockIsPartial) {
  expect_counts(counts_of(Variant("plain"), shape_of(40, 40), 16, 16), 6, 3, 0);
}

TEST(TileCounts, HeadsAndSequencesThatDiffer) {
  Variant v("padded");
  const auto length = v.table<int>("length", {axis::batch});
  length.example([](const ExampleShape&, const std::vector<int64_t>& b) { return b[0] ? 64 : 16; });
  v.keep([=](Position p) { return p.k < length(p.batch); });
  expect_counts(counts_of(v, shape_of(16, 64, 2, 3), 16, 16), 3 * (1 + 4), 0, 3 * 3);

  Variant by_head("by_head");
  by_head.keep([](Position p) { return p.k < (p.head + 1) * 16; });
  expect_counts(counts_of(by_head, shape_of(16, 64, 1, 4, 2), 16, 16), 1 + 2 + 3 + 4, 0, 6);

  Variant by_kv_head("by_kv_head");
  by_kv_head.keep([](Position p) { return p.k < (p.kv_head + 1) * 16; });
  expect_counts(counts_of(by_kv_head, shape_of(16, 64, 1, 4, 2), 16, 16), 2 * (1 + 2), 0,
                2 * (3 + 2));
}

TEST(TileCounts, BoundsOfTableEntries) {
  Variant v("documents");
  const auto document = v.table<int>("document", {axis::position});
  document.example([](const ExampleShape&, const std::vector<int64_t>& i) { return i[0] / 20; });
  v.keep([=](Position p) { return document(p.q) == document(p.k); });
  const TileCounts c = counts_of(v, shape_of(80, 80), 8, 8);
  EXPECT_EQ(c.unknown, "");
  // Documents that follow each other: what can be skipped is known from the first and last of each.
  EXPECT_EQ(c.skipped, c.best_skipped);
  EXPECT_EQ(c.full, c.best_full);
  EXPECT_GT(c.full, 0);
  EXPECT_GT(c.skipped, 0);
}

TEST(TileCounts, ConditionsThatSkipLessThanTheMaskAllows) {
  Variant v("causal");
  v.keep(masks::causal());
  TileStatus safe = tile_status(v, 16, 16);
  safe.live = Halide::Internal::const_true();
  safe.full = Halide::Internal::const_false();
  const ExampleParameters example(v, shape_of(64, 64));
  const TileCounts c = count_tiles(v, safe, example.values(), shape_of(64, 64));
  expect_counts(c, 0, 16, 0);
  EXPECT_EQ(c.best_full, 6);
  EXPECT_EQ(c.best_skipped, 6);
}

TEST(TileCounts, ConditionsThatCannotBeEvaluatedHere) {
  Variant v("causal");
  v.keep(masks::causal());
  TileStatus strange = tile_status(v, 16, 16);
  strange.live = Halide::Internal::Variable::make(Halide::Bool(), "elsewhere");
  const ExampleParameters example(v, shape_of(64, 64));
  const TileCounts c = count_tiles(v, strange, example.values(), shape_of(64, 64));
  EXPECT_NE(c.unknown.find("elsewhere"), std::string::npos) << c.unknown;
  expect_counts(c, 0, 16, 0);
}

TEST(TileCounts, LongCallsAreCountedWithoutTheirPairs) {
  Variant v("causal");
  v.keep(masks::causal());
  const TileCounts c = counts_of(v, shape_of(1 << 15, 1 << 15), 16, 128);
  EXPECT_FALSE(c.has_best);
  EXPECT_EQ(c.tiles, 2048 * 256);
  EXPECT_EQ(c.partial, 2048);
}

}  // namespace
}  // namespace fovea
