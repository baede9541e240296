// block_lists.cpp: blocks of keys chosen by lists in compressed form.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace fovea;

namespace {

constexpr int longest = 8;

// Lists of four: the own block, the one before, and two further back, as far as there are any.
int64_t list_end(int64_t rows_before) {
  int64_t end = 0;
  for (int64_t r = 0; r < rows_before; ++r) end += std::min<int64_t>(4, r + 1);
  return end;
}

}  // namespace

FOVEA_VARIANT(block_lists, v) {
  auto query_block = v.scalar<int>("query_block").at_least(1);
  auto key_block = v.scalar<int>("key_block").at_least(1);
  auto first = v.table<int>("first", {axis::any});
  auto blocks = v.table<int>("blocks", {axis::any});
  query_block.describe("query positions of a block").example(64);
  key_block.describe("keys of a block").example(64);
  first
      .describe(
          "place in `blocks` of the first entry of each query block's list; one more at the end")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        return static_cast<double>(list_end(i[0]));
      })
      .example_extent(
          [](const ExampleShape& s) { return std::max<int64_t>(1, (s.kv_len + 63) / 64) + 1; });
  blocks.describe("visible key blocks, list after list")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        int64_t row = 0;
        while (list_end(row + 1) <= i[0]) ++row;
        const int64_t entry = i[0] - list_end(row);
        return static_cast<double>(entry < 2 ? row - entry : row - 1 - (row * (entry - 1)) / 3);
      })
      .example_extent([](const ExampleShape& s) {
        return std::max<int64_t>(1, list_end((s.kv_len + 63) / 64));
      });
  v.summary("blocks of keys listed for each block of queries, in compressed form");
  v.source(
      "the compressed block lists of FlexAttention and FlashInfer (Ye et al. 2025, "
      "arXiv:2501.01005), shared by batch and heads");
  v.family("sparse");
  v.note("a list holds up to 8 blocks; longer ones are declared with masks::block_lists");
  v.note("blocks are those of absolute query positions, counted from position 0");
  v.keep(masks::block_lists(first, blocks, longest, query_block, key_block));
  v.returns(lse);
}
