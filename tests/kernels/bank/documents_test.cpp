// documents_test.cpp: several documents in one sequence.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(Documents, kernels_for({"bank_segments"}));
FOVEA_BANK(DocumentsShort, kernels_for({"full", "causal"}));

// https://github.com/NVIDIA/TransformerEngine/issues/3331: three documents padded to a round length
TEST_P(Documents, Row166PaddingAfterTheLastDocument) {
  for (const int64_t tokens : {5, 698}) {
    const int64_t padded = tokens == 5 ? 8 : 704;
    Random random("row 166", static_cast<uint64_t>(tokens));
    Problem with(GetParam(), setup_of(padded, padded), random);
    std::vector<double> of_query, of_key;
    for (int64_t i = 0; i < padded; ++i) {
      of_query.push_back(i < tokens ? static_cast<double>(3 * i / tokens) : -1);
      of_key.push_back(i < tokens ? static_cast<double>(3 * i / tokens) : -2);
    }
    with.params.set_table("of_query", {padded}, of_query);
    with.params.set_table("of_key", {padded}, of_key);
    const Results got = with.checked_run();
    std::vector<double> expected(static_cast<size_t>(padded), nan);
    std::fill(expected.begin() + tokens, expected.end(), empty);
    expect_rows(with, got, expected);
    Problem without(with, setup_of(tokens, tokens));
    const Results bare = without.checked_run();
    for (int64_t i = 0; i < tokens; ++i)
      for (int64_t d = 0; d < 64; ++d) {
        // The last block of keys is whole with the padding, and cut off without it.
        ASSERT_NEAR(bare.at(0, 0, i, d), got.at(0, 0, i, d), 1e-6f) << i;
      }
    EXPECT_EQ(compare(bare, expected_results(without)), "");
  }
}

// https://github.com/areal-project/AReaL/issues/1103: a document without tokens between two others
TEST_P(Documents, Row167ADocumentWithoutTokens) {
  Problem problem(GetParam(), setup_of(4, 4));
  problem.params.set_table("of_query", {4}, {0, 0, 2, 2});
  problem.params.set_table("of_key", {4}, {0, 0, 2, 2});
  expect_means(problem, {1.5, 1.5, 3.5, 3.5});
}

// https://github.com/Dao-AILab/flash-attention/pull/2337: guards stand before, after and between
TEST_P(DocumentsShort, Row170ManySequencesOfOneToken) {
  CallSetup setup = setup_of(4, 4, 2, 1);
  setup.batch = 100;
  setup.threads = 2;
  setup.q_len = setup.kv_len = std::vector<int32_t>(100, 1);
  Random random("row 170", 0);
  Problem problem(GetParam(), setup, random);
  const Results got = problem.checked_run();
  for (int64_t b = 0; b < 100; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t d = 0; d < 64; ++d) ASSERT_EQ(got.at(b, h, 0, d), problem.v.at(b, 0, 0, d)) << b;
}

}  // namespace
}  // namespace fovea::test::bank
