// mask_grid.cpp: the mask evaluated pair by pair, and cells in characters.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/mask_grid.h"

#include <algorithm>
#include <cmath>

#include "generators/describe/bound_parameters.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

// Up to this many pairs every one is looked at: a second or so.
constexpr int64_t most_judged_pairs = int64_t{1} << 24;
constexpr int64_t samples_of_a_cell = 8;  // along each axis, otherwise

// The positions of each cell of one axis that are looked at, cell after cell.
std::vector<int64_t> looked_at(int64_t length, int64_t step, bool sampled) {
  std::vector<int64_t> positions;
  for (int64_t first = 0; first < length; first += step) {
    const int64_t size = std::min(step, length - first);
    const int64_t count = sampled ? std::min(size, samples_of_a_cell) : size;
    for (int64_t i = 0; i < count; ++i)
      positions.push_back(first + (count == 1 ? 0 : i * (size - 1) / (count - 1)));
  }
  return positions;
}

void add_bias(MaskGrid& grid, const std::vector<double>& sums, const std::vector<int64_t>& pairs) {
  bool first = true;
  for (size_t cell = 0; cell < sums.size(); ++cell) {
    const double mean = pairs[cell] ? sums[cell] / static_cast<double>(pairs[cell]) : 0;
    grid.bias.push_back(mean);
    if (!pairs[cell]) continue;
    grid.least_bias = first ? mean : std::min(grid.least_bias, mean);
    grid.largest_bias = first ? mean : std::max(grid.largest_bias, mean);
    first = false;
  }
  // Also what is no number gives no shades.
  if (!(grid.largest_bias - grid.least_bias > 1e-9) || !std::isfinite(grid.largest_bias) ||
      !std::isfinite(grid.least_bias))
    grid.bias.clear();
}

}  // namespace

MaskGrid mask_grid(const Variant& variant, const ParameterValues& values, const ExampleShape& shape,
                   int64_t most_cells) {
  MaskGrid grid;
  grid.q_len = shape.q_len;
  grid.kv_len = shape.kv_len;
  // Square cells, so that a diagonal stays one.
  const int64_t longest = std::max(shape.q_len, shape.kv_len);
  grid.q_step = grid.k_step = (longest + most_cells - 1) / most_cells;
  grid.rows = (shape.q_len + grid.q_step - 1) / grid.q_step;
  grid.columns = (shape.kv_len + grid.k_step - 1) / grid.k_step;
  grid.sampled = shape.q_len * shape.kv_len > most_judged_pairs && grid.q_step > samples_of_a_cell;

  const std::vector<int64_t> queries = looked_at(shape.q_len, grid.q_step, grid.sampled);
  const std::vector<int64_t> keys = looked_at(shape.kv_len, grid.k_step, grid.sampled);
  BoundParameters bound(variant, values);
  const Expr mask = ir::substitute_in_all_lets(variant.mask());
  const Expr score = ir::substitute_in_all_lets(
      ir::substitute("score", ir::make_zero(Halide::Float(32)), variant.score_chain()));
  const bool has_bias = !variant.score_steps().empty();
  for (const char* zero : {"batch", "head", "kv_head"}) bound.set(zero, 0);
  bound.set("q_len", shape.q_len);
  bound.set("kv_len", shape.kv_len);
  bound.set("k", keys);
  const auto cells = static_cast<size_t>(grid.rows * grid.columns);
  std::vector<int64_t> pairs(cells, 0), visible_pairs(cells, 0);
  std::vector<double> sums(cells, 0);
  for (const int64_t row : queries) {
    bound.set("row", row);
    bound.set("q", row + shape.kv_len - shape.q_len);
    const std::vector<int64_t> visible = bound.integers(mask, keys.size());
    const std::vector<double> scores =
        has_bias ? bound.reals(score, keys.size()) : std::vector<double>();
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto cell =
          static_cast<size_t>(row / grid.q_step * grid.columns + keys[i] / grid.k_step);
      ++pairs[cell];
      if (!visible[i]) continue;
      ++visible_pairs[cell];
      if (has_bias) sums[cell] += scores[i];
    }
  }
  for (size_t cell = 0; cell < cells; ++cell) {
    const int64_t n = visible_pairs[cell];
    grid.cells.push_back(n == pairs[cell] ? Cell::Visible : n ? Cell::Mixed : Cell::Hidden);
  }
  if (has_bias) add_bias(grid, sums, visible_pairs);
  return grid;
}

double MaskGrid::shade(int64_t row, int64_t column) const {
  if (bias.empty()) return 1;
  const double b = bias[static_cast<size_t>(row * columns + column)];
  return (b - least_bias) / (largest_bias - least_bias);
}

std::vector<std::string> plain_rows(const MaskGrid& grid) {
  std::vector<std::string> lines;
  for (int64_t row = 0; row < grid.rows; ++row) {
    std::string line;
    for (int64_t column = 0; column < grid.columns; ++column)
      line += ".#+"[static_cast<int>(grid.at(row, column))];
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> block_rows(const MaskGrid& grid) {
  std::vector<std::string> lines;
  for (int64_t row = 0; row < grid.rows; row += 2) {
    std::string line;
    for (int64_t column = 0; column < grid.columns; ++column) {
      const Cell upper = grid.at(row, column);
      // An odd number of rows ends in the upper halves of a line.
      const bool last = row + 1 == grid.rows;
      const Cell lower = last ? Cell::Hidden : grid.at(row + 1, column);
      if (upper == Cell::Mixed || lower == Cell::Mixed) {
        line += "▒";
      } else if (upper == Cell::Visible) {
        line += lower == Cell::Visible ? "█" : "▀";
      } else {
        line += lower == Cell::Visible ? "▄" : "·";
      }
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace fovea
