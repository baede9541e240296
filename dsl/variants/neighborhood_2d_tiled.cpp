// neighborhood_2d_tiled.cpp: neighbourhood attention on an image stored tile after tile.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// The same set of pairs as neighborhood_2d. Tokens of one tile lie together in memory, so fewer
// blocks of keys are partly visible.
FOVEA_VARIANT(neighborhood_2d_tiled, v) {
  auto height = v.scalar<int>("height").between(1, 32767);
  auto width = v.scalar<int>("width").between(1, 32767);
  auto tile_y = v.scalar<int>("tile_y").between(1, 32767);
  auto tile_x = v.scalar<int>("tile_x").between(1, 32767);
  auto size_y = v.scalar<int>("size_y").between(1, 32767);
  auto size_x = v.scalar<int>("size_x").between(1, 32767);
  // The largest square that 8 x 8 tiles fill.
  const auto side = [](const ExampleShape& s) {
    double n = 8;
    while ((n + 8) * (n + 8) <= static_cast<double>(s.kv_len)) n += 8;
    return n;
  };
  height.describe("rows of the image, a multiple of tile_y").example(side);
  width.describe("tokens of a row, a multiple of tile_x").example(side);
  tile_y.describe("rows of a tile").example(8);
  tile_x.describe("columns of a tile").example(8);
  size_y.describe("rows that a query sees").example(13);
  size_x.describe("columns that a query sees").example(13);
  v.summary("a rectangle of keys around each token of an image stored in tiles: NATTEN 2-D");
  v.source(
      "Hassani et al. 2025, Generalized Neighborhood Attention, arXiv:2504.16922 (token "
      "permutation)");
  v.family("grid");
  v.note(
      "q, k, v and the output have their tokens tile after tile; the image is a whole number of "
      "tiles");
  v.keep(masks::neighborhood(tile_major({height, width}, {tile_y, tile_x}), {height, width},
                             {size_y, size_x}));
  v.returns(lse);
}
