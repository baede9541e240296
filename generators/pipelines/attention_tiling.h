// attention_tiling.h: sizes that shape the algorithm itself. The schedule chooses them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_ATTENTION_TILING_H
#define FOVEA_GENERATORS_PIPELINES_ATTENTION_TILING_H

#include "generators/pipelines/cache_kind.h"

namespace fovea {

// That divides `extent` and is at most `limit`: how many neighbours make a vector.
constexpr int largest_power_of_two(int extent, int limit) {
  int power = 1;
  while (2 * power <= limit && extent % (2 * power) == 0) power *= 2;
  return power;
}

struct AttentionTiling {
  Element element = Element::F32;  // of q and out, and of k and v unless a cache is quantised
  int d_qk = 0, d_v = 0;
  int block_rows = 0;  // bq: query rows of one tile
  int item_rows = 0;   // Prefill: from the first row of an item to that of the next; at least bq
  int key_block = 0;   // bk: keys that share one maximum and one correction of the state
  // Prefill: features of the output kept next to each other in the state; divides d_v. Decode:
  // vectors of them; divides d_v / value_lanes.
  int feature_group = 0;
  // Products of bf16 pairs by the target's own instruction: of queries and keys, and in blocks that
  // are visible whole of weights and values; in decode of the latter only with row_lanes. Else
  // 16-bit keys and values are widened, a block at a time, and everything is as in f32.
  bool dot_pairs = false;

  // Decode with dot_pairs: the rows of the tile are the vector lanes of scores, and weights and
  // values are multiplied in pairs of keys.
  bool row_lanes = false;
  // Decode: features are the vector lanes. So many partial sums of a product are added up at its
  // end (0: rows are the lanes, and every product has one accumulator); divides the features of a
  // slice, or the pairs of them.
  int feature_lanes = 0;
  // Decode: rows whose feature_lanes make one vector of products; divides block_rows. With several
  // of them the same few features of a key are repeated for every row.
  int product_rows = 1;
  int value_lanes = 0;  // features of v next to each other in the state; divides d_v
  int pair_keys = 0;    // keys that make, with the rows of the tile, a vector of pairs
  // Decode: keys that follow each other in the order of computation lie key_block / key_streams
  // rows apart, so that as many streams of memory run at once. Divides key_block. The same for
  // tiles of any number of rows: they add up in one order.
  int key_streams = 1;
  // Decode: how many blocks ahead keys and values are asked for; 0: not before they are read.
  int prefetch_blocks = 0;

  CacheKind cache = CacheKind::None;
  // Decode of a quantised cache: where a row has a single scale, the product of a key is multiplied
  // by it and the weight of a value, not their numbers.
  bool scales_apart = false;
  // GPU: a call computes the tiles of many heads and sequences, each by a block of threads. Tensors
  // have all four axes, and 16-bit elements arrive as integers, because not every GPU language has
  // the types.
  bool grid = false;
  // GPU: a group has its features in runs of so many neighbours, and between two of its runs lie
  // those of the other groups: neighbouring threads, which have neighbouring groups, read
  // neighbouring runs. Divides feature_group; 0: one run.
  int feature_run = 0;
  int vector_lanes = 1;  // floats of a vector of the target
  // Neighbouring features of rows of `size` that are read at once, at most as many as share a
  // scale.
  int read_unit(int size) const {
    return largest_power_of_two(size, vector_lanes < scale_unit ? vector_lanes : scale_unit);
  }
};

}  // namespace fovea

#endif
