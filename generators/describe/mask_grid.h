// mask_grid.h: which keys the queries of one head see, and with which bias, as a grid of cells.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DESCRIBE_MASK_GRID_H
#define FOVEA_GENERATORS_DESCRIBE_MASK_GRID_H

#include <fovea/dsl/reference.h>
#include <fovea/dsl/variant.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

enum class Cell : uint8_t { Hidden, Visible, Mixed };

struct MaskGrid {
  int64_t q_len = 0, kv_len = 0;
  int64_t q_step = 1, k_step = 1;  // queries and keys of one cell
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells;  // rows x columns
  bool sampled = false;     // a cell was judged by some of its pairs

  // What the score steps make of a product of 0, the mean over the visible pairs of each cell;
  // empty if that is the same everywhere.
  std::vector<double> bias;
  double least_bias = 0, largest_bias = 0;  // of the cells that are not hidden

  Cell at(int64_t row, int64_t column) const {
    return cells[static_cast<size_t>(row * columns + column)];
  }
  // 0 … 1 between the least and the largest bias; 1 where there is none.
  double shade(int64_t row, int64_t column) const;
};

// The mask of sequence 0, head 0 with all of its lengths, bottom-right aligned, in at most
// `most_cells` rows and columns.
MaskGrid mask_grid(const Variant& variant, const ParameterValues& values, const ExampleShape& shape,
                   int64_t most_cells);

// '#' visible, '.' hidden, '+' both in one cell.
std::vector<std::string> plain_rows(const MaskGrid& grid);

// For a terminal: two rows of cells in one line of block characters.
std::vector<std::string> block_rows(const MaskGrid& grid);

}  // namespace fovea

#endif
