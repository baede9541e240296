// graph_bias.cpp: a bias by distance in a graph (Graphormer).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(graph_bias, v) {
  auto distance = v.table<int>("distance", {axis::batch, axis::row, axis::key});
  auto bias = v.table<float>("bias", {axis::head, axis::any});
  // Distances on a ring.
  distance.describe("(batch, query row, key): length of the shortest path between two nodes")
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        const int64_t apart = std::abs(i[1] + s.kv_len - s.q_len - i[2]);
        return static_cast<double>(std::min(apart, std::abs(s.kv_len - apart)));
      });
  bias.describe("(head, distance): learned; the last entry is for all greater distances")
      .example(example::scattered(-2, 2))
      .example_extent([](const ExampleShape&) { return 64; });
  v.summary("a learned bias per head and distance in a graph: Graphormer");
  v.source(
      "Ying et al. 2021, Do Transformers Really Perform Bad for Graph Representation, "
      "arXiv:2106.05234");
  v.family("position");
  v.note(
      "the spatial encoding; the edge encoding is a dense_bias, and unreachable pairs are a "
      "distance of their own");
  v.score([=](Expr s, Position p) { return s + bias(p.head, distance(p.batch, p.row, p.k)); });
  v.returns(lse);
}
