// finished_rows.h: from the sums over a row's keys to what a call returns of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_FINISHED_ROWS_H
#define FOVEA_GENERATORS_PIPELINES_FINISHED_ROWS_H

#include <Halide.h>

#include <functional>
#include <vector>

#include "generators/pipelines/row_chain.h"
#include "generators/pipelines/tile_context.h"

namespace fovea {

// What is known of row `qi` of the tile when all its keys have been seen, for one slice of features
// (for all of them, if the variant has no slices).
struct RowSums {
  std::function<Halide::Expr(const Halide::Expr& feature)> entry;  // weighted values
  Halide::Expr sum;                                                // of the weights
  Halide::Expr maximum;  // of the scores, in units of log2; softmax only
};

// What a sink, a key that was seen before all others and had no value, makes of them.
Halide::Expr sink_maximum(const Halide::Expr& sink_logit);
Halide::Expr sink_sum(const Halide::Expr& sink_logit);

struct FinishedRows {
  struct Slice {
    Halide::Func divisor;  // (qi); undefined where nothing is divided by
    Halide::Func rows;     // (qi, d): normalised
  };
  std::vector<Slice> slices;
  Halide::Func combined;               // (qi, d): of the slices; undefined with one
  RowChain output_rows;                // (qi, d)
  Halide::Expr out;                    // at (qi, d): the element as it is stored
  Halide::Expr lse, row_max, row_sum;  // at qi, each undefined unless the variant returns it
};

FinishedRows finish_rows(const TileContext& context, const std::vector<RowSums>& slices);

// Of a grid: (d, row, head, sequence), a tuple of out and the numbers of rows that are there. Row 0
// of the tile is first_row.
Halide::Func grid_of_rows(const FinishedRows& rows, const Halide::Expr& out,
                          const Halide::Expr& first_row);

}  // namespace fovea

#endif
