// zero_length_test.cpp: calls without rows, without keys, without anything.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(ZeroSeven, kernels_of("full", 7, 7));
FOVEA_BANK(ZeroTwo, kernels_of("full", 2, 3));
FOVEA_BANK(ZeroPlain, kernels_of_any_size({"full", "causal"}));

// https://github.com/pytorch/pytorch/issues/141219
TEST_P(ZeroSeven, Row77NoQueriesAndNoKeys) {
  for (const int64_t q_rows : {0, 3}) {
    CallSetup setup = setup_of(q_rows, 0, 9, 9);
    setup.batch = 7;
    Problem problem(GetParam(), setup);
    expect_rows(problem, problem.checked_run(),
                std::vector<double>(static_cast<size_t>(q_rows), empty));
  }
}

// https://github.com/pytorch/pytorch/pull/174951
TEST_P(ZeroTwo, Row79NoSequencesAndNoHeads) {
  CallSetup setup = setup_of(2, 2);
  setup.batch = setup.heads = setup.kv_heads = 0;
  Problem problem(GetParam(), setup);
  EXPECT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();
}

// https://github.com/Dao-AILab/flash-attention/pull/2470 and, for the sign of the LSE,
// https://github.com/Dao-AILab/flash-attention/pull/978 (row 115)
TEST_P(ZeroPlain, Row80QueriesWithoutKeys) {
  Problem problem(GetParam(), setup_of(4, 0));
  const Results got = problem.checked_run();
  ASSERT_FALSE(got.lse.empty());
  expect_rows(problem, got, {empty, empty, empty, empty});
}

// https://github.com/Dao-AILab/flash-attention/issues/1537
TEST_P(ZeroPlain, Row82SequencesWithoutAQuery) {
  CallSetup setup = setup_of(1, 5, 9, 3);
  setup.batch = 3;
  setup.q_len = {1, 0, 1};
  setup.kv_len = {3, 0, 5};
  Random random("row 82", 0);
  Problem problem(GetParam(), setup, random);
  expect_accurate(problem);
}

// https://github.com/pytorch/pytorch/issues/81077
TEST_P(ZeroPlain, Row83SequencesWithoutAKey) {
  CallSetup setup = setup_of(3, 3);
  setup.batch = 3;
  setup.kv_len = {3, 0, 2};
  setup.q_offset = {0, 0, 0};
  Random random("row 83", 0);
  Problem problem(GetParam(), setup, random);
  expect_accurate(problem);
  const Results got = problem.results();
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(got.lse[got.row(1, 0, i)], -INFINITY);
    for (int64_t d = 0; d < got.d_v; ++d) ASSERT_EQ(got.at(1, 0, i, d), 0.0f);
  }
}

}  // namespace
}  // namespace fovea::test::bank
