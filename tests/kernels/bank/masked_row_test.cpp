// masked_row_test.cpp: rows that see no key.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(MaskedRow, kernels_for({"test_dense_mask"}));

std::vector<double> mask_of(int64_t q_rows, int64_t kv_rows, bool (*visible)(int64_t, int64_t)) {
  std::vector<double> keep;
  for (int64_t i = 0; i < q_rows; ++i)
    for (int64_t k = 0; k < kv_rows; ++k) keep.push_back(visible(i, k) ? 1 : 0);
  return keep;
}

// https://github.com/pytorch/pytorch/issues/103963
TEST_P(MaskedRow, Row1RowsOutsideOfTheCornerAreZero) {
  Random random("row 1", 0);
  Problem problem(GetParam(), setup_of(8, 8), random);
  problem.params.set_table("keep", {8, 8},
                           mask_of(8, 8, [](int64_t i, int64_t k) { return i < 4 && k < 4; }));
  const Results got = problem.checked_run();
  expect_rows(problem, got, {nan, nan, nan, nan, empty, empty, empty, empty});
  CallSetup four_keys = setup_of(8, 4);
  four_keys.q_offset = {0};
  Problem corner(GetParam(), four_keys);
  corner.params.set_table("keep", {8, 4}, mask_of(8, 4, [](int64_t i, int64_t) { return i < 4; }));
  corner.fill_q(copy_of(problem.q));
  corner.fill_k(copy_of(problem.k));
  corner.fill_v(copy_of(problem.v));
  EXPECT_EQ(compare(got, expected_results(corner)), "");
}

// https://github.com/pytorch/pytorch/issues/103749
TEST_P(MaskedRow, Row2APaddingRowDisturbsNoOther) {
  const auto causal_but_5 = [](int64_t i, int64_t k) { return i < 5 && k <= i; };
  CallSetup setup = setup_of(6, 10, 2, 2);
  setup.q_offset = {0};
  Random random("row 2", 0);
  Problem with(GetParam(), setup, random);
  with.params.set_table("keep", {6, 10}, mask_of(6, 10, causal_but_5));
  const Results padded = with.checked_run();
  expect_rows(with, padded, {nan, nan, nan, nan, nan, empty});
  setup.q_rows = 5;
  Problem without(with, setup);
  const Results bare = without.checked_run();
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t d = 0; d < bare.d_v; ++d) ASSERT_EQ(bare.at(0, h, i, d), padded.at(0, h, i, d));
}

// https://github.com/ml-explore/mlx/pull/2608: one row less than a vector, and vectors full of them
TEST_P(MaskedRow, Row4FewRowsAndManyAgreeOnTheEmptyOnes) {
  const int64_t many = 2 * GetParam().info().block_rows + 3;
  std::vector<double> expected;
  for (int64_t i = 0; i < many; ++i) expected.push_back(i % 3 == 1 ? empty : 2.5);
  for (const int64_t q_rows : {int64_t{3}, many}) {
    CallSetup setup = setup_of(q_rows, 4);
    setup.q_offset = {0};
    Problem problem(GetParam(), setup);
    problem.params.set_table("keep", {q_rows, 4},
                             mask_of(q_rows, 4, [](int64_t i, int64_t) { return i % 3 != 1; }));
    expect_means(problem, {expected.begin(), expected.begin() + q_rows});
  }
}

// https://github.com/openvinotoolkit/openvino/issues/35959
TEST_P(MaskedRow, Row5NothingVisibleIsZero) {
  Random random("row 5", 0);
  Problem problem(GetParam(), setup_of(3, 3), random);
  problem.params.set_table("keep", {3, 3}, std::vector<double>(9, 0));
  expect_rows(problem, problem.checked_run(), {empty, empty, empty});
}

// https://github.com/tracel-ai/cubecl/pull/1070
TEST(MaskedRowComparison, Row7NanAndZeroDiffer) {
  const auto compare_one = [](float got, double expected) {
    Expected e;
    e.batch = e.heads = e.rows = e.d_v = 1;
    e.computed = {1};
    e.out = {expected};
    e.out_magnitude = {1};
    e.lse = e.score_magnitude = {0};
    e.plain = e;
    Results r;
    r.batch = r.heads = r.rows = r.d_v = 1;
    r.out = {got};
    return compare(r, e);
  };
  EXPECT_NE(compare_one(0, nan), "");
  EXPECT_NE(compare_one(std::numeric_limits<float>::quiet_NaN(), 0), "");
  EXPECT_EQ(compare_one(0, 0), "");
}

}  // namespace
}  // namespace fovea::test::bank
