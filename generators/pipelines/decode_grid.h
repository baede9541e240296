// decode_grid.h: the decode algorithm of a variant for devices: few query rows, many keys.
//
// As on a CPU the query heads that share a KV head, and the few rows of each, are the rows of a
// tile, and the keys are split into chunks. The part makes records of all tiles and chunks in one
// launch: of each row its weighted values, sum and maximum. The finish merges the records of each
// row in the order of the chunks, in a second launch.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_DECODE_GRID_H
#define FOVEA_GENERATORS_PIPELINES_DECODE_GRID_H

#include <Halide.h>

#include <vector>

#include "generators/pipelines/attention_tile.h"

namespace fovea {

// Items are (tile of the KV head, chunk), the chunks of a tile next to each other. Records are
// (number, row of the tile, item, KV head, sequence).
struct GridPartInputs : KernelInputs {
  Halide::Param<int> item;  // item, KV head, batch and sequence are those of the first block
  Halide::Param<int> heads_per_kv, chunks, sequence;
  // Of a cache: so many chunks, then a gap of so many of which a ring has given up all keys, then
  // the others.
  Halide::Param<int> chunks_before_gap, gap_chunks;
  Halide::Param<int64_t> q_start, k_start, v_start, records_start;

  std::vector<Halide::Argument> arguments() const;
};

struct GridPart : AttentionTile {
  GridPartInputs inputs;
  Halide::Func records;  // (number, qi, item, head, sequence): numbers of all slices
};

// The tile status must belong to block_rows x key_block tiles; see grid_part_status.
GridPart make_grid_part(const Variant& variant, const AttentionTiling& tiling,
                        const TileStatus& status, int chunk_blocks);

// Rows of a tile are of several heads, but their positions follow each other: conditions on blocks
// that ask for the head are given up. block_rows positions are at least as many as the rows have.
TileStatus grid_part_status(const Variant& variant, int block_rows, int key_block);

struct GridFinishInputs : KernelInputs {
  Halide::ImageParam records;
  Halide::Param<int> row, head;  // with batch and sequence, those of the first block
  Halide::Param<int> heads_per_kv, chunks, sequence;
  Halide::Param<int64_t> records_start;
  std::vector<Halide::Param<int64_t>> output_starts;

  std::vector<Halide::Argument> arguments() const;
};

// One row of one head. Chunks are dealt out to places, which are merged in their order.
struct GridFinish {
  struct Merge {
    Halide::Func some_maximum, maximum;  // (qi, place), (qi); softmax only
    Halide::Func some_total, total;      // (number, qi, place), (number, qi)
    Halide::RDom max_chunks, max_places, chunks, places;
  };
  AttentionTiling tiling;
  GridFinishInputs inputs;
  std::vector<Merge> merges;  // one for each slice
  FinishedRows finished;
  Halide::Func grid;  // see grid_of_rows
};

// part_rows: of a tile of the part.
GridFinish make_grid_finish(const Variant& variant, const AttentionTiling& tiling, int part_rows);

inline constexpr int max_places = 64, total_places = 8;

// The numbers of one slice in a record: d_v weighted values, the sum and, of a softmax, the
// maximum.
int record_numbers(const Variant& variant, const AttentionTiling& tiling);

}  // namespace fovea

#endif
