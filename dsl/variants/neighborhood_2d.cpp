// neighborhood_2d.cpp: neighbourhood attention on an image.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(neighborhood_2d, v) {
  auto height = v.scalar<int>("height").between(1, 32767);
  auto width = v.scalar<int>("width").between(1, 32767);
  auto size_y = v.scalar<int>("size_y").between(1, 32767);
  auto size_x = v.scalar<int>("size_x").between(1, 32767);
  // The largest square.
  const auto side = [](const ExampleShape& s) {
    double n = 1;
    while ((n + 1) * (n + 1) <= static_cast<double>(s.kv_len)) ++n;
    return n;
  };
  height.describe("rows of the image").example(side);
  width.describe("tokens of a row").example(side);
  size_y.describe("rows that a query sees").example(13);
  size_x.describe("columns that a query sees").example(13);
  v.summary("a rectangle of keys around each token of an image: NATTEN 2-D");
  v.source("Hassani et al. 2022, Neighborhood Attention Transformer, arXiv:2204.07143");
  v.family("grid");
  v.note("tokens row after row; at a border the window moves inwards and keeps its size");
  v.note("no dilation and no causal axis: compose them from positions and masks");
  v.keep(masks::neighborhood(row_major({height, width}), {height, width}, {size_y, size_x}));
  v.returns(lse);
}
