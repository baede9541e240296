// A picture of attention weights: rows of the target, columns of the source.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace transliterate {

struct HeatMap {
  std::string source;  // the title: source → target
  std::string target;
  std::string note;                  // below the title, may be empty
  std::vector<std::string> columns;  // labels of the source, in reading order from left to right
  std::vector<std::string> rows;
  std::vector<std::vector<float>> weights;  // [rows][columns], 0 to 1
};

// The pixel in the middle of the upper edge of a cell, clear of the number written in it.
struct Pixel {
  int x;
  int y;
};
Pixel pixel_of(std::size_t row, std::size_t column);

// Colours from 0 (white) to 255 of a weight: red, green, blue.
struct Colour {
  int red;
  int green;
  int blue;
};
Colour colour_of(float weight);

// Writes a PNG file. Throws std::runtime_error when it cannot be written, has no cells, or no
// installed font has the characters of a label.
void write_heat_map(const HeatMap& map, const std::filesystem::path& file);

}  // namespace transliterate
