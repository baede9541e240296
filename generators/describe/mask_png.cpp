// mask_png.cpp: a mask as pixels.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "generators/describe/mask_picture.h"

namespace fovea {
namespace {

using Colour = std::array<uint8_t, 3>;
constexpr Colour paper = {255, 255, 255}, ink = {90, 96, 104}, hidden = {228, 231, 235},
                 visible = {63, 131, 209};
constexpr int64_t picture_size = 512;  // pixels of the longer side, about
constexpr int64_t left = 70, top = 30, end = 12;
constexpr int64_t dot = 2;  // pixels along each side of a dot of a character

// Five by seven pixels each: the only characters an axis needs.
struct Glyph {
  char character;
  std::array<std::string_view, 7> rows;
};
constexpr Glyph glyphs[] = {
    {'0', {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "}},
    {'1', {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "}},
    {'2', {" ### ", "#   #", "    #", "  ## ", " #   ", "#    ", "#####"}},
    {'3', {" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "}},
    {'4', {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "}},
    {'5', {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "}},
    {'6', {" ### ", "#    ", "#    ", "#### ", "#   #", "#   #", " ### "}},
    {'7', {"#####", "    #", "   # ", "  #  ", " #   ", " #   ", " #   "}},
    {'8', {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "}},
    {'9', {" ### ", "#   #", "#   #", " ####", "    #", "    #", " ### "}},
    {'k', {"#    ", "#    ", "#  # ", "# #  ", "##   ", "# #  ", "#  # "}},
    {'q', {"     ", " ####", "#   #", "#   #", " ####", "    #", "    #"}},
};

class Canvas {
 public:
  Canvas(int64_t width, int64_t height) : width_(width), height_(height) {
    for (int64_t i = 0; i < width * height; ++i)
      pixels_.insert(pixels_.end(), paper.begin(), paper.end());
  }

  void fill(int64_t x, int64_t y, int64_t width, int64_t height, const Colour& colour) {
    for (int64_t row = std::max<int64_t>(y, 0); row < std::min(y + height, height_); ++row) {
      for (int64_t column = std::max<int64_t>(x, 0); column < std::min(x + width, width_); ++column)
        std::copy(colour.begin(), colour.end(), pixels_.begin() + (row * width_ + column) * 3);
    }
  }

  static int64_t text_width(std::string_view text) {
    return (static_cast<int64_t>(text.size()) * 6 - 1) * dot;
  }

  void write(int64_t x, int64_t y, std::string_view text) {
    for (const char c : text) {
      for (const Glyph& glyph : glyphs) {
        if (glyph.character != c) continue;
        for (size_t row = 0; row < glyph.rows.size(); ++row) {
          for (size_t column = 0; column < glyph.rows[row].size(); ++column) {
            if (glyph.rows[row][column] == '#')
              fill(x + static_cast<int64_t>(column) * dot, y + static_cast<int64_t>(row) * dot, dot,
                   dot, ink);
          }
        }
      }
      x += 6 * dot;
    }
  }

  void save(const std::filesystem::path& file) const {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    image.format = PNG_FORMAT_RGB;
    if (!png_image_write_to_file(&image, file.c_str(), 0, pixels_.data(), 0, nullptr))
      throw std::runtime_error(fmt::format("{}: {}", file.string(), image.message));
  }

 private:
  int64_t width_, height_;
  std::vector<uint8_t> pixels_;
};

// Paper shines through where a cell is mixed, or its bias is below the largest.
Colour colour_of(const MaskGrid& grid, int64_t row, int64_t column) {
  const Cell state = grid.at(row, column);
  if (state == Cell::Hidden) return hidden;
  const double whole = 0.3 + 0.7 * grid.shade(row, column);
  const double part = state == Cell::Mixed ? whole / 2 : whole;
  Colour colour;
  for (size_t i = 0; i < colour.size(); ++i)
    colour[i] = static_cast<uint8_t>(std::lround(part * visible[i] + (1 - part) * paper[i]));
  return colour;
}

}  // namespace

void write_mask_png(const MaskGrid& grid, const std::filesystem::path& file) {
  const int64_t cell = std::max<int64_t>(1, picture_size / std::max(grid.rows, grid.columns));
  const int64_t gap = cell >= 6 ? 1 : 0;
  const int64_t width = cell * grid.columns, height = cell * grid.rows;
  Canvas canvas(left + width + end, top + height + end);
  for (int64_t row = 0; row < grid.rows; ++row) {
    for (int64_t column = 0; column < grid.columns; ++column) {
      canvas.fill(left + column * cell, top + row * cell, cell - gap, cell - gap,
                  colour_of(grid, row, column));
    }
  }
  const auto before_row = [&](int64_t y, std::string_view text) {
    canvas.write(left - 8 - Canvas::text_width(text), y, text);
  };
  const std::string last_q = std::to_string(grid.q_len - 1),
                    last_k = std::to_string(grid.kv_len - 1);
  before_row(top, "0");
  before_row(top + height / 2 - 7, "q");
  before_row(top + height - 16, last_q);
  canvas.write(left, top - 20, "0");
  canvas.write(left + width / 2 - 5, top - 20, "k");
  canvas.write(left + width - Canvas::text_width(last_k), top - 20, last_k);
  canvas.save(file);
}

}  // namespace fovea
