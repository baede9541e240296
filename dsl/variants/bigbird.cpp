// bigbird.cpp: window, global and random blocks.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(bigbird, v) {
  auto block = v.scalar<int>("block").at_least(1);
  auto reach = v.scalar<int>("reach").at_least(0);
  auto global_blocks = v.scalar<int>("global_blocks").at_least(0);
  auto random = v.table<bool>("random", {axis::head, axis::any, axis::any});
  block.describe("positions of a block").example(64);
  reach.describe("blocks before and after the query's own that it sees").example(1);
  global_blocks.describe("blocks at the beginning that see all and are seen by all").example(1);
  // Three of the blocks of each row of blocks, others for each head.
  random.describe("(head, query block, key block): true where the block is visible as well")
      .example([](const ExampleShape& s, const std::vector<int64_t>& i) {
        const int64_t blocks = (s.kv_len + 63) / 64;
        const int64_t distance = (i[2] + 7 * i[1] + 13 * i[0]) % blocks;
        return distance < 3 ? 1.0 : 0.0;
      })
      .example_extent(
          [](const ExampleShape& s) { return std::max<int64_t>(1, (s.kv_len + 63) / 64); });
  v.summary("neighbouring, first and random blocks of positions: BigBird");
  v.source("Zaheer et al. 2020, Big Bird: Transformers for Longer Sequences, arXiv:2007.14062");
  v.family("sparse");
  v.note(
      "global blocks lie at the beginning; the published code takes the first and the last, which "
      "the table can add");
  v.keep(masks::bigbird(block, reach, global_blocks, random));
  v.returns(lse);
}
