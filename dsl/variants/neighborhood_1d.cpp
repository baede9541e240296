// neighborhood_1d.cpp: neighbourhood attention on a line.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(neighborhood_1d, v) {
  auto length = v.scalar<int>("length").at_least(1);
  auto size = v.scalar<int>("size").at_least(1);
  length.describe("tokens of the line").example([](const ExampleShape& s) {
    return static_cast<double>(std::max<int64_t>(1, s.kv_len));
  });
  size.describe("keys that a query sees").example(129);
  v.summary("the `size` keys around each token; at the ends the window moves inwards: NATTEN 1-D");
  v.source("Hassani et al. 2022, Neighborhood Attention Transformer, arXiv:2204.07143");
  v.family("grid");
  v.note("unlike a sliding window, every query sees exactly `size` keys");
  v.keep(masks::neighborhood(row_major({length}), {length}, {size}));
  v.returns(lse);
}
