// block_sparse.cpp: blocks of keys chosen by a table.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(block_sparse, v) {
  auto query_block = v.scalar<int>("query_block").at_least(1);
  auto key_block = v.scalar<int>("key_block").at_least(1);
  auto visible = v.table<bool>("visible", {axis::batch, axis::head, axis::any, axis::any});
  query_block.describe("query positions of a block").example(64);
  key_block.describe("keys of a block").example(64);
  // The diagonal, its neighbour, and every fifth block.
  visible.describe("(batch, head, query block, key block): true where the block is visible")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        const int64_t distance = i[2] - i[3];
        return distance >= 0 && (distance < 2 || distance % 5 == 0) ? 1.0 : 0.0;
      })
      .example_extent(
          [](const ExampleShape& s) { return std::max<int64_t>(1, (s.kv_len + 63) / 64); });
  v.summary("blocks of keys chosen per block of queries by a table");
  v.source(
      "Child et al. 2019, arXiv:1904.10509; FlexAttention's BlockMask (Dong et al. 2024, "
      "arXiv:2412.05496)");
  v.family("sparse");
  v.note("for lists of blocks in compressed form see block_lists");
  v.note("blocks are those of absolute query positions, counted from position 0");
  v.keep(masks::block_map(visible, query_block, key_block));
  v.returns(lse);
}
