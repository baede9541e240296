// alibi_test.cpp: penalties that grow with the distance.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/relative_bias.h>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(Alibi, kernels_for({"alibi_causal"}));

// The mean of the key numbers up to the query's, under the penalty.
double penalised_mean(double slope, int64_t query) {
  double sum = 0, weights = 0;
  for (int64_t k = 0; k <= query; ++k) {
    const double weight = std::exp(-slope * static_cast<double>(query - k));
    sum += weight * static_cast<double>(k + 1);
    weights += weight;
  }
  return sum / weights;
}

// https://github.com/ml-explore/mlx/pull/3071: heads that are no power of two
TEST_P(Alibi, Row46EveryHeadHasASlopeOfItsOwn) {
  std::vector<double> slopes;
  for (int h = 1; h <= 8; ++h) slopes.push_back(std::exp2(-h));
  for (int h = 1; h <= 4; ++h) slopes.push_back(std::exp2(0.5 - h));
  const std::vector<float> published = alibi_slopes(12);
  ASSERT_EQ(published.size(), slopes.size());
  for (size_t h = 0; h < slopes.size(); ++h) {
    EXPECT_FLOAT_EQ(published[h], static_cast<float>(slopes[h])) << h;
  }
  Problem problem(GetParam(), setup_of(70, 70, 12, 3));
  problem.params.set_table("slope", {12}, {published.begin(), published.end()});
  problem.fill_v(key_number);
  const Results got = problem.checked_run();
  for (int64_t h = 0; h < 12; ++h) {
    for (int64_t i = 0; i < 70; ++i) {
      const double expected = penalised_mean(slopes[static_cast<size_t>(h)], i);
      ASSERT_NEAR(got.at(0, h, i), expected, 4e-6 * expected + GetParam().rounding(expected))
          << "head " << h << ", row " << i;
    }
  }
}

// https://github.com/NVIDIA/TensorRT-LLM/pull/1611: both rules can be had, and any other vector
TEST_P(Alibi, Row47SlopesOfEitherRuleOrOfNone) {
  constexpr int64_t heads = 40;
  std::vector<float> own;
  for (int64_t h = 0; h < heads; ++h) own.push_back(1.0f / static_cast<float>(h + 2));
  for (const std::vector<float>& slopes :
       {alibi_slopes(heads), alibi_slopes_geometric(heads), own}) {
    ASSERT_EQ(static_cast<int64_t>(slopes.size()), heads);
    Problem problem(GetParam(), setup_of(1, 9, heads, heads));
    problem.params.set_table("slope", {heads}, {slopes.begin(), slopes.end()});
    problem.fill_v(key_number);
    const Results got = problem.checked_run();
    for (int64_t h = 0; h < heads; ++h) {
      const double slope = static_cast<double>(slopes[static_cast<size_t>(h)]);
      const double expected = penalised_mean(slope, 8);
      ASSERT_NEAR(got.at(0, h, 0), expected, 2e-5 + GetParam().rounding(expected)) << "head " << h;
    }
  }
  EXPECT_NE(alibi_slopes(heads), alibi_slopes_geometric(heads));
}

// https://github.com/paiml/aprender/pull/2143
TEST(AlibiSlopes, Row49TheFirstHeadHasOneHalf) {
  const std::vector<float> slopes = alibi_slopes(8);
  ASSERT_EQ(slopes.size(), 8U);
  for (int h = 0; h < 8; ++h)
    EXPECT_EQ(slopes[static_cast<size_t>(h)], std::exp2(-1.0f - static_cast<float>(h))) << h;
  EXPECT_EQ(slopes, alibi_slopes_geometric(8));
}

// https://github.com/keras-team/keras-hub/pull/2977: a full pass, and its last row alone
TEST_P(Alibi, Row50DistancesCountFromThePositionOfTheQuery) {
  for (const int64_t q_rows : {5, 1}) {
    Problem problem(GetParam(), setup_of(q_rows, 5));
    problem.params.set_table("slope", {1}, {0.5});
    problem.fill_v(key_number);
    EXPECT_NEAR(problem.checked_run().at(0, 0, q_rows - 1), 3.9056, 5e-5 + GetParam().rounding(4));
  }
}

// https://github.com/vllm-project/vllm/pull/945: the key of the query itself has no penalty, which
// shows in the LSE
TEST_P(Alibi, Row52TheDistanceToOneselfIsZero) {
  Random random("row 52", 0);
  Problem prefill(GetParam(), setup_of(5, 5), random);
  prefill.params.set_table("slope", {1}, {0.5});
  expect_accurate(prefill);
  const Results all = prefill.results();
  Problem decode(GetParam(), setup_of(1, 5));
  decode.params.set_table("slope", {1}, {0.5});
  decode.fill_q([&](int64_t b, int64_t h, int64_t, int64_t d) { return prefill.q.at(b, h, 4, d); });
  decode.fill_k(copy_of(prefill.k));
  decode.fill_v(copy_of(prefill.v));
  const Results last = decode.checked_run();
  // A single row and several have code of their own in decode. Native bf16 rounds the weights of
  // keys that every row of a tile sees.
  const bool own_code = GetParam().decodes() || GetParam().multiplies_bf16();
  const double rounding = own_code ? 1e-6 + GetParam().rounding(1) : 0;
  for (int64_t d = 0; d < all.d_v; ++d)
    EXPECT_NEAR(last.at(0, 0, 0, d), all.at(0, 0, 4, d), rounding) << d;
  if (!all.lse.empty()) {
    EXPECT_NEAR(last.lse[0], all.lse[4], rounding);
  }
}

}  // namespace
}  // namespace fovea::test::bank
