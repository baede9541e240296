// SPDX-License-Identifier: Apache-2.0
#include "heat_map.h"

#include <cairo.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace transliterate {
namespace {

std::filesystem::path path() {
  return std::filesystem::path(::testing::TempDir()) / "transliterate_test.png";
}

TEST(HeatMap, CellsHaveTheColourOfTheirWeight) {
  HeatMap map = {
      "مي", "Mai", "a note", {"م", "ي", "end"}, {"M", "a"}, {{0, 0.25F, 1}, {0.5F, 0.04F, 0.9F}}};
  write_heat_map(map, path());
  cairo_surface_t* const surface = cairo_image_surface_create_from_png(path().c_str());
  ASSERT_EQ(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  const unsigned char* const data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const Pixel at = pixel_of(row, column);
      ASSERT_LT(at.x, cairo_image_surface_get_width(surface));
      ASSERT_LT(at.y, cairo_image_surface_get_height(surface));
      const auto pixel = *reinterpret_cast<const std::uint32_t*>(data + at.y * stride + at.x * 4);
      const Colour expected = colour_of(map.weights[row][column]);
      EXPECT_EQ(pixel >> 16 & 0xFF, static_cast<unsigned>(expected.red)) << row << ' ' << column;
      EXPECT_EQ(pixel >> 8 & 0xFF, static_cast<unsigned>(expected.green)) << row << ' ' << column;
      EXPECT_EQ(pixel & 0xFF, static_cast<unsigned>(expected.blue)) << row << ' ' << column;
    }
  }
  cairo_surface_destroy(surface);
}

TEST(HeatMap, DarkerIsMore) {
  int before = 3 * 256;
  for (int i = 0; i <= 20; ++i) {
    const Colour colour = colour_of(static_cast<float>(i) / 20);
    const int sum = colour.red + colour.green + colour.blue;
    EXPECT_LT(sum, before) << i;
    before = sum;
  }
}

TEST(HeatMap, Refuses) {
  const HeatMap map = {"مي", "Mai", "", {"م"}, {"M"}, {{1}}};
  EXPECT_THROW(write_heat_map(map, "no/such/folder/map.png"), std::runtime_error);
  EXPECT_THROW(write_heat_map({"", "", "", {}, {}, {}}, path()), std::runtime_error);
  HeatMap unknown = map;
  unknown.rows = {"\U0010FFFD"};  // a private character
  EXPECT_THROW(write_heat_map(unknown, path()), std::runtime_error);
}

}  // namespace
}  // namespace transliterate
