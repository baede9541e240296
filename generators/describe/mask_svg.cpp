// mask_svg.cpp: a mask as a few paths.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "generators/describe/mask_picture.h"

namespace fovea {
namespace {

constexpr int picture_size = 256;        // pixels of the longer side, about
constexpr int top = 20, end = 6;         // room for the labels above, and at the other ends
constexpr int64_t most_grid_lines = 40;  // more would only grey the picture

using Run = std::pair<int64_t, int64_t>;  // columns first … last - 1

constexpr int shades = 8;

// How much of the colour a cell gets, in `shades` steps; hidden ones none.
int strength(const MaskGrid& grid, int64_t row, int64_t column) {
  const Cell state = grid.at(row, column);
  if (state == Cell::Hidden) return 0;
  const double whole = 0.3 + 0.7 * grid.shade(row, column);
  const double part = state == Cell::Mixed ? whole / 2 : whole;
  return std::clamp(static_cast<int>(std::lround(part * shades)), 1, shades);
}

std::vector<Run> runs_of(const MaskGrid& grid, int64_t row, int wanted) {
  std::vector<Run> runs;
  for (int64_t c = 0; c < grid.columns; ++c) {
    if (strength(grid, row, c) != wanted) continue;
    if (!runs.empty() && runs.back().second == c) {
      runs.back().second = c + 1;
    } else {
      runs.emplace_back(c, c + 1);
    }
  }
  return runs;
}

// The cells of one strength as rectangles: equal runs of rows that follow each other become one.
std::string path_of(const MaskGrid& grid, int wanted) {
  std::string path;
  std::map<Run, int64_t> open;  // run -> its first row
  const auto close = [&](const Run& run, int64_t from, int64_t to) {
    path += fmt::format("M{} {}h{}v{}h-{}z", run.first, from, run.second - run.first, to - from,
                        run.second - run.first);
  };
  for (int64_t row = 0; row <= grid.rows; ++row) {
    std::map<Run, int64_t> still_open;
    if (row < grid.rows) {
      for (const Run& run : runs_of(grid, row, wanted)) {
        const auto before = open.find(run);
        still_open[run] = before == open.end() ? row : before->second;
      }
    }
    for (const auto& [run, from] : open) {
      if (!still_open.count(run)) close(run, from, row);
    }
    open = std::move(still_open);
  }
  return path;
}

std::string grid_lines(const MaskGrid& grid) {
  if (std::max(grid.rows, grid.columns) > most_grid_lines) return "";
  std::string path;
  for (int64_t c = 1; c < grid.columns; ++c) path += fmt::format("M{} 0v{}", c, grid.rows);
  for (int64_t r = 1; r < grid.rows; ++r) path += fmt::format("M0 {}h{}", r, grid.columns);
  return fmt::format(
      "<path d=\"{}\" stroke=\"#8b949e\" stroke-opacity=\".4\" stroke-width=\".07\" "
      "shape-rendering=\"auto\"/>\n",
      path);
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x, y, anchor, text);
}

}  // namespace

std::string mask_svg(const MaskGrid& grid, const std::string& title) {
  const double cell =
      std::max(1.0, static_cast<double>(picture_size / std::max(grid.rows, grid.columns)));
  const double width = cell * static_cast<double>(grid.columns),
               height = cell * static_cast<double>(grid.rows);
  // Room for the labels at the left: 7 pixels a digit.
  const std::string last_q = std::to_string(grid.q_len - 1);
  const double left = 12 + 7 * static_cast<double>(last_q.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" role=\"img\">\n<title>{2}</title>\n",
      width + left + end, height + top + end, escaped(title));
  svg += "<g fill=\"#8b949e\" font-family=\"sans-serif\" font-size=\"11\">";
  svg += label(left - 5, top + 10, "end", "0") + label(left - 5, top + height, "end", last_q) +
         label(left - 5, top + height / 2 + 4, "end", "q") + label(left, top - 6, "start", "0") +
         label(left + width, top - 6, "end", std::to_string(grid.kv_len - 1)) +
         label(left + width / 2, top - 6, "middle", "k");
  svg += fmt::format(
      "</g>\n<g transform=\"translate({},{}) scale({})\" shape-rendering=\"crispEdges\">\n", left,
      top, cell);
  svg += fmt::format("<path fill=\"#8b949e\" fill-opacity=\".2\" d=\"M0 0h{}v{}h-{}z\"/>\n",
                     grid.columns, grid.rows, grid.columns);
  for (int level = shades; level > 0; --level) {
    const std::string path = path_of(grid, level);
    if (path.empty()) continue;
    const std::string opacity =
        level == shades ? "" : fmt::format(" fill-opacity=\"{:.3g}\"", 1.0 * level / shades);
    svg += fmt::format("<path fill=\"#3f83d1\"{} d=\"{}\"/>\n", opacity, path);
  }
  return svg + grid_lines(grid) + "</g>\n</svg>\n";
}

}  // namespace fovea
