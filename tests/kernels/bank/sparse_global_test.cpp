// sparse_global_test.cpp: masks of blocks, and tokens that everybody sees.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(SparseBlocks, kernels_for({"bank_block_map"}));
FOVEA_BANK(SparseGlobal, kernels_for({"bank_global_both_ways"}));
FOVEA_BANK(SparseGlobalWindow, kernels_for({"global_window"}));
FOVEA_BANK(SparseOneCache, kernels_for({"bank_one_cache"}));

// https://github.com/pytorch/pytorch/pull/136657: blocks that are no squares
TEST_P(SparseBlocks, Row172RowsAndKeysHaveBlocksOfTheirOwn) {
  for (const auto& [rows, keys] : {std::pair{64, 32}, {32, 64}, {7, 19}}) {
    const int64_t row_blocks = (256 + rows - 1) / rows, key_blocks = (256 + keys - 1) / keys;
    const auto is_visible = [](int64_t i, int64_t j) {
      return (3 * i + 5 * j) % 4 == 1 || j < i / 2;
    };
    Problem problem(GetParam(), setup_of(256, 256));
    problem.params.set("rows_of_block", rows);
    problem.params.set("keys_of_block", keys);
    std::vector<double> visible;
    for (int64_t i = 0; i < row_blocks; ++i)
      for (int64_t j = 0; j < key_blocks; ++j) visible.push_back(is_visible(i, j) ? 1 : 0);
    problem.params.set_table("visible", {row_blocks, key_blocks}, visible);
    const int64_t of_rows = rows, of_keys = keys;
    expect_means(problem, means(256, 256, [&](int64_t i, int64_t k) {
                   return is_visible(i / of_rows, k / of_keys);
                 }));
  }
}

// https://github.com/meta-pytorch/attention-gym/issues/71
TEST_P(SparseBlocks, Row173ABlockThatDividesNeitherLength) {
  CallSetup setup = setup_of(100, 260);
  setup.q_offset = {0};
  Problem problem(GetParam(), setup);
  problem.params.set("rows_of_block", 128);
  problem.params.set("keys_of_block", 128);
  problem.params.set_table("visible", {1, 3}, {1, 0, 1});
  expect_means(problem, means(100, 260, [](int64_t, int64_t k) { return k < 128 || k >= 256; }));
}

// https://github.com/meta-pytorch/attention-gym/pull/215: a token both global and in the window
// counts once
TEST_P(SparseGlobal, Row175AUnionCountsOnce) {
  Problem problem(GetParam(), setup_of(6, 6));
  problem.params.set("reach", 1);
  problem.params.set("global", 1);
  expect_means(problem, {3.5, 2, 2.5, 3.25, 4, 4});
}

TEST_P(SparseGlobalWindow, Row175AUnionCountsOnceWhenCausal) {
  Problem problem(GetParam(), setup_of(6, 6));
  problem.params.set("window", 2);
  problem.params.set("global", 1);
  expect_means(problem, {1, 1.5, 2, 8.0 / 3, 10.0 / 3, 4});
}

// https://github.com/ikawrakow/ik_llama.cpp/issues/2186: two sequences whose tokens alternate
TEST_P(SparseOneCache, Row176SequencesInterleavedInOneCache) {
  constexpr int64_t tokens = 80;
  std::vector<double> sequence, position;
  for (int64_t i = 0; i < tokens; ++i) {
    sequence.push_back(static_cast<double>(i % 2));
    position.push_back(static_cast<double>(i % 2 == 0 ? i / 2 : tokens / 2 - 1 - i / 2));
  }
  Problem problem(GetParam(), setup_of(tokens, tokens));
  problem.params.set("window", 3);
  problem.params.set_table("query_sequence", {tokens}, sequence);
  problem.params.set_table("key_sequence", {tokens}, sequence);
  problem.params.set_table("query_position", {tokens}, position);
  problem.params.set_table("key_position", {tokens}, position);
  expect_means(problem, means(tokens, tokens, [&](int64_t i, int64_t k) {
                 const auto a = static_cast<size_t>(i), b = static_cast<size_t>(k);
                 const double distance = position[a] - position[b];
                 return sequence[a] == sequence[b] && distance >= 0 && distance < 3;
               }));
}

}  // namespace
}  // namespace fovea::test::bank
