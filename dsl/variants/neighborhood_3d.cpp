// neighborhood_3d.cpp: neighbourhood attention on a video.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(neighborhood_3d, v) {
  auto depth = v.scalar<int>("depth").between(1, 1024);
  auto height = v.scalar<int>("height").between(1, 1024);
  auto width = v.scalar<int>("width").between(1, 1024);
  auto size_z = v.scalar<int>("size_z").between(1, 1024);
  auto size_y = v.scalar<int>("size_y").between(1, 1024);
  auto size_x = v.scalar<int>("size_x").between(1, 1024);
  // The largest cube.
  const auto side = [](const ExampleShape& s) {
    double n = 1;
    while (n < 1024 && (n + 1) * (n + 1) * (n + 1) <= static_cast<double>(s.kv_len)) ++n;
    return n;
  };
  depth.describe("frames of the video").example(side);
  height.describe("rows of a frame").example(side);
  width.describe("tokens of a row").example(side);
  size_z.describe("frames that a query sees").example(5);
  size_y.describe("rows that a query sees").example(7);
  size_x.describe("columns that a query sees").example(7);
  v.summary("a box of keys around each token of a video: NATTEN 3-D");
  v.source("Hassani et al. 2022, Neighborhood Attention Transformer, arXiv:2204.07143");
  v.family("grid");
  v.note("tokens frame after frame, row after row; at a border the window moves inwards");
  v.keep(masks::neighborhood(row_major({depth, height, width}), {depth, height, width},
                             {size_z, size_y, size_x}));
  v.returns(lse);
}
