// tree.cpp: a tree of draft tokens (speculative decoding).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(tree, v) {
  auto prefix = v.table<int>("prefix", {axis::batch});
  auto ancestor = v.table<bool>("ancestor", {axis::batch, axis::any, axis::any});
  const auto nodes_of = [](const ExampleShape& s) {
    return std::max<int64_t>(1, std::min(s.q_len, s.kv_len / 2));
  };
  prefix.describe("keys before the tree, which all nodes see")
      .example([=](const ExampleShape& s, const std::vector<int64_t>&) {
        return static_cast<double>(std::max<int64_t>(0, s.kv_len - nodes_of(s)));
      });
  // A binary heap.
  ancestor
      .describe(
          "(batch, node, other): true where the other node is an ancestor of the node or the node "
          "itself")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        int64_t node = i[1];
        while (node > i[2]) node = (node - 1) / 2;
        return node == i[2] ? 1.0 : 0.0;
      })
      .example_extent(nodes_of);
  v.summary("a tree of draft tokens after a prefix: each sees the prefix and its ancestors");
  v.source(
      "Miao et al. 2023, SpecInfer, arXiv:2305.09781; Cai et al. 2024, Medusa, arXiv:2401.10774");
  v.family("decoding");
  v.note("node n sits at position prefix + n, and parents come before their children");
  v.note(
      "tokens at the same depth share a rotary position, which belongs to q and k before the call");
  v.keep(masks::tree([=](const Position& p) { return prefix(p.batch); }, ancestor));
  v.returns(lse);
}
