// mask_picture_test.cpp: masks as cells, characters, SVG and PNG.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/mask_picture.h"

#include <fovea/dsl.h>
#include <fovea/dsl/example.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include "scratch_folder.h"

namespace fovea {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ExampleShape lengths(int64_t q_len, int64_t kv_len) {
  ExampleShape shape;
  shape.q_len = q_len;
  shape.kv_len = kv_len;
  return shape;
}

MaskGrid grid_of(const Variant& v, int64_t q_len, int64_t kv_len, int64_t most_cells = 64) {
  const ExampleParameters example(v, lengths(q_len, kv_len));
  return mask_grid(v, example.values(), lengths(q_len, kv_len), most_cells);
}

Variant with_mask(const Mask& mask) {
  Variant v("sample");
  v.keep(mask);
  return v;
}

TEST(MaskGrid, OnePairACell) {
  EXPECT_THAT(plain_rows(grid_of(with_mask(masks::causal()), 4, 4)),
              ElementsAre("#...", "##..", "###.", "####"));
  EXPECT_THAT(plain_rows(grid_of(with_mask(masks::last_tokens(2)), 4, 4)),
              ElementsAre("#...", "##..", ".##.", "..##"));
  // Bottom-right: the last query sees the last key.
  EXPECT_THAT(plain_rows(grid_of(with_mask(masks::causal()), 2, 5)), ElementsAre("####.", "#####"));
  // The row counts from the first query whatever its position.
  EXPECT_THAT(plain_rows(grid_of(with_mask([](Position p) { return p.k == p.row; }), 2, 4)),
              ElementsAre("#...", ".#.."));
  EXPECT_THAT(plain_rows(grid_of(Variant("plain"), 2, 3)), ElementsAre("###", "###"));
}

TEST(MaskGrid, ExamplesAndExtents) {
  Variant v("tables");
  const auto allowed = v.table<bool>("allowed", {axis::key});
  allowed.example([](const ExampleShape&, const std::vector<int64_t>& i) { return i[0] % 2; });
  const auto first = v.table<int>("first", {axis::any});
  first.example_extent([](const ExampleShape&) { return 3; });
  const auto window = v.scalar<int>("window").example(4);
  v.keep([=](Position p) { return allowed(p.k) && p.k >= first.extent() && p.k < window + 3; });
  EXPECT_THAT(plain_rows(grid_of(v, 1, 9)), ElementsAre("...#.#..."));
}

TEST(MaskGrid, ACellOfManyPairs) {
  const MaskGrid grid = grid_of(with_mask(masks::causal()), 64, 64, 4);
  EXPECT_EQ(grid.q_step, 16);
  EXPECT_FALSE(grid.sampled);
  EXPECT_THAT(plain_rows(grid), ElementsAre("+...", "#+..", "##+.", "###+"));
  // The last cells hold what is left.
  EXPECT_THAT(plain_rows(grid_of(with_mask(masks::causal()), 5, 5, 3)),
              ElementsAre("+..", "#+.", "###"));
}

TEST(MaskGrid, BiasOfTheScoreSteps) {
  Variant v("biased");
  const auto slope = v.table<float>("slope", {axis::head});
  slope.example([](const ExampleShape&, const std::vector<int64_t>&) { return 0.5; });
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
  const MaskGrid grid = grid_of(v, 3, 3);
  EXPECT_EQ(grid.least_bias, -1);
  EXPECT_EQ(grid.largest_bias, 0);
  EXPECT_EQ(grid.shade(2, 2), 1);
  EXPECT_EQ(grid.shade(2, 1), 0.5);
  EXPECT_EQ(grid.shade(2, 0), 0);
  // 1, 0.5 and 0 are drawn as 100, 65 and 30 %, in eighths.
  const std::string svg = mask_svg(grid, "");
  EXPECT_THAT(svg, HasSubstr("#3f83d1\" d=\"M0 0h1v1h-1zM1 1h1v1h-1zM2 2h1v1h-1z\""));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.625\" d=\"M0 1h1v1h-1zM1 2h1v1h-1z\""));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.25\" d=\"M0 2h1v1h-1z\""));
  // A cap leaves a product of 0 where it is: no bias.
  Variant capped("capped");
  capped.score([](Expr s, Position) { return 50.0f * tanh(s / 50.0f); });
  EXPECT_TRUE(grid_of(capped, 3, 3).bias.empty());
}

TEST(MaskGrid, LongSequencesAreSampled) {
  const MaskGrid grid = grid_of(with_mask(masks::last_tokens(100000)), 200000, 200000, 4);
  EXPECT_TRUE(grid.sampled);
  EXPECT_THAT(plain_rows(grid), ElementsAre("+...", "#+..", "+#+.", ".+#+"));
}

TEST(MaskGrid, TwoRowsInALineOfBlocks) {
  EXPECT_THAT(block_rows(grid_of(with_mask(masks::last_tokens(2)), 5, 5)),
              ElementsAre("█▄···", "·▀█▄·", "···▀▀"));
  EXPECT_THAT(block_rows(grid_of(with_mask(masks::causal()), 64, 64, 4)),
              ElementsAre("▒▒··", "██▒▒"));
}

TEST(MaskSvg, SmallAndWhole) {
  const std::string svg = mask_svg(grid_of(with_mask(masks::causal()), 3, 3), "q < k & more");
  EXPECT_THAT(svg, HasSubstr("<title>q &lt; k &amp; more</title>"));
  // One rectangle for each column that begins in a row of its own.
  EXPECT_THAT(svg, HasSubstr("d=\"M0 0h1v1h-1zM0 1h2v1h-2zM0 2h3v1h-3z\""));
  EXPECT_THAT(svg, HasSubstr(">q</text>"));
  EXPECT_THAT(svg, HasSubstr(">k</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("fill-opacity=\"0.5\"")));  // no mixed cells
  // Rows that are alike are one rectangle.
  EXPECT_THAT(mask_svg(grid_of(with_mask(masks::first_tokens(2)), 32, 32), ""),
              HasSubstr("d=\"M0 0h2v32h-2z\""));
  EXPECT_LT(mask_svg(grid_of(with_mask(masks::causal()), 4096, 4096, 64), "").size(), 8000u);
}

TEST(MaskSvg, EveryVisibleCellIsDrawnOnce) {
  const MaskGrid grid = grid_of(with_mask(masks::window(5, 3) | masks::first_tokens(2)), 40, 40);
  const std::string svg = mask_svg(grid, "");
  const std::string mark = "fill=\"#3f83d1\" d=\"";
  const size_t begin = svg.find(mark) + mark.size();
  std::string path = svg.substr(begin, svg.find('"', begin) - begin);
  std::vector<int> drawn(grid.cells.size(), 0);
  for (size_t at = 0; at < path.size(); at = path.find('z', at) + 1) {
    int x = 0, y = 0, width = 0, height = 0;
    ASSERT_EQ(std::sscanf(path.c_str() + at, "M%d %dh%dv%d", &x, &y, &width, &height), 4);
    for (int row = y; row < y + height; ++row) {
      for (int column = x; column < x + width; ++column)
        ++drawn[static_cast<size_t>(row * 40 + column)];
    }
  }
  for (size_t i = 0; i < drawn.size(); ++i)
    EXPECT_EQ(drawn[i], grid.cells[i] == Cell::Visible ? 1 : 0) << i;
}

TEST(MaskPng, CanBeReadBack) {
  const ScratchFolder folder;
  const auto file = folder.path() / "causal.png";
  write_mask_png(grid_of(with_mask(masks::causal()), 16, 16), file);
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&image, file.c_str())) << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  ASSERT_TRUE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr)) << image.message;
  const auto pixel = [&](size_t x, size_t y) {
    const uint8_t* p = &pixels[(y * image.width + x) * 3];
    return std::vector<int>{p[0], p[1], p[2]};
  };
  // Cells of 32 pixels from the corner at (70, 30): the first query sees the first key only, the
  // last one all of them.
  EXPECT_EQ(pixel(70 + 16, 30 + 16), (std::vector<int>{63, 131, 209}));
  EXPECT_EQ(pixel(70 + 48, 30 + 16), (std::vector<int>{228, 231, 235}));
  EXPECT_EQ(pixel(70 + 15 * 32 + 16, 30 + 15 * 32 + 16), (std::vector<int>{63, 131, 209}));
}

TEST(MaskPng, AFileThatCannotBeWrittenIsNamed) {
  const ScratchFolder folder;
  try {
    write_mask_png(grid_of(Variant("plain"), 2, 2), folder.path() / "none" / "x.png");
    FAIL() << "was written";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none/x.png"));
  }
}

}  // namespace
}  // namespace fovea
