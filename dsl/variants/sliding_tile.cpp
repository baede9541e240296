// sliding_tile.cpp: neighbourhoods of whole tiles of a video.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(sliding_tile, v) {
  auto depth = v.scalar<int>("depth").between(1, 1024);
  auto height = v.scalar<int>("height").between(1, 1024);
  auto width = v.scalar<int>("width").between(1, 1024);
  auto tile_z = v.scalar<int>("tile_z").between(1, 1024);
  auto tile_y = v.scalar<int>("tile_y").between(1, 1024);
  auto tile_x = v.scalar<int>("tile_x").between(1, 1024);
  auto size_z = v.scalar<int>("size_z").between(1, 1024);
  auto size_y = v.scalar<int>("size_y").between(1, 1024);
  auto size_x = v.scalar<int>("size_x").between(1, 1024);
  // The largest cube that 4 x 4 x 4 tiles fill.
  const auto side = [](const ExampleShape& s) {
    double n = 4;
    while (n < 1024 && (n + 4) * (n + 4) * (n + 4) <= static_cast<double>(s.kv_len)) n += 4;
    return n;
  };
  depth.describe("frames of the video, a multiple of tile_z").example(side);
  height.describe("rows of a frame, a multiple of tile_y").example(side);
  width.describe("tokens of a row, a multiple of tile_x").example(side);
  tile_z.describe("frames of a tile").example(4);
  tile_y.describe("rows of a tile").example(4);
  tile_x.describe("columns of a tile").example(4);
  size_z.describe("tiles along the frames that a query sees").example(3);
  size_y.describe("tiles along the rows that a query sees").example(3);
  size_x.describe("tiles along the columns that a query sees").example(3);
  v.summary("the tiles around the own tile, each as a whole: sliding-tile attention");
  v.source(
      "Zhang et al. 2025, Fast Video Generation with Sliding Tile Attention, arXiv:2502.04507");
  v.family("grid");
  v.note("q, k, v and the output have their tokens tile after tile");
  v.note("text tokens after the video, which all queries see, are one more mask joined by or");
  v.keep(masks::sliding_tile({depth, height, width}, {tile_z, tile_y, tile_x},
                             {size_z, size_y, size_x}));
  v.returns(lse);
}
