// head_dim_test.cpp: numbers of features that are no power of two, or differ.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

std::vector<TestKernel> full_of(std::initializer_list<std::pair<int, int>> dims) {
  return kernels_where([&](const TestKernel& k) {
    return k.variant_name() == "full" &&
           std::find(dims.begin(), dims.end(), std::pair<int, int>(k.info().d_qk, k.info().d_v)) !=
               dims.end();
  });
}

FOVEA_BANK(HeadDimUnequal, full_of({{128, 256}, {2, 3}, {192, 128}, {33, 17}}));
FOVEA_BANK(HeadDimThree, full_of({{3, 3}}));
FOVEA_BANK(
    HeadDimOdd,
    full_of(
        {{80, 80}, {1, 1}, {3, 3}, {5, 5}, {7, 7}, {17, 17}, {65, 65}, {127, 127}, {129, 129}}));
FOVEA_BANK(HeadDim192, full_of({{192, 128}}));
FOVEA_BANK(HeadDimSixteens, full_of({{16, 16}, {48, 48}, {80, 80}}));

// https://github.com/Dao-AILab/flash-attention/issues/952
TEST_P(HeadDimUnequal, Row95TheScaleIsThatOfTheQueries) {
  const double d_qk = GetParam().info().d_qk;
  Problem problem(GetParam(), setup_of(1, 2));
  problem.fill_q(first_feature(1));
  problem.fill_k(rows_in_first_feature({std::sqrt(d_qk), 0}));  // a score of 1
  problem.fill_v(rows({1, 0}));
  const double score = static_cast<double>(problem.k.at(0, 0, 0)) / std::sqrt(d_qk);
  const double weight = 1 / (1 + std::exp(-score));
  const Results got = problem.checked_run();
  for (int64_t d = 0; d < got.d_v; ++d)
    EXPECT_NEAR(got.at(0, 0, 0, d), weight, 5e-7 + GetParam().rounding(weight)) << d;
  Random random("row 95", 0);
  Problem any(GetParam(), setup_of(35, 70, 2, 1), random);
  expect_accurate(any);
}

// https://github.com/intel/ipex-llm/pull/12619
TEST_P(HeadDimThree, Row97TheScaleIsNotThatOfAPaddedRow) {
  Problem problem(GetParam(), setup_of(1, 2));
  problem.fill_q(first_feature(1));
  problem.fill_k(rows_in_first_feature({3, 0}));
  problem.fill_v(rows({1, 0}));
  const double weight = 1 / (1 + std::exp(-3 / std::sqrt(3.0)));  // 0.84967
  EXPECT_NEAR(problem.checked_run().at(0, 0, 0), weight, 5e-7 + GetParam().rounding(weight));
}

// https://github.com/NVIDIA/FasterTransformer/issues/89
TEST_P(HeadDimOdd, Row98IsAsTheReference) {
  for (const int64_t rows : {1, 7, 35}) {
    Random random("row 98", static_cast<uint64_t>(rows));
    Problem problem(GetParam(), setup_of(rows, 130, 2, 1), random);
    expect_accurate(problem);
  }
}

// https://github.com/flashinfer-ai/flashinfer/issues/4976
TEST_P(HeadDim192, Row100ValuesOfAnotherSize) {
  Random random("row 100", 0);
  Problem problem(GetParam(), setup_of(99, 99, 2, 1), random);
  expect_accurate(problem);
}

// https://github.com/openvinotoolkit/openvino/pull/24627: nothing is read beside the rows
TEST_P(HeadDimSixteens, Row101NothingBesideARowIsRead) {
  for (const Edge edge : {Edge::Start, Edge::End}) {
    for (const int64_t keys : {1, 3, 65}) {
      CallSetup setup = setup_of(3, keys);
      for (Layout* layout : {&setup.q, &setup.k, &setup.v, &setup.out}) layout->edge = edge;
      Random random("row 101", static_cast<uint64_t>(keys));
      Problem problem(GetParam(), setup, random);
      expect_accurate(problem);
    }
  }
}

}  // namespace
}  // namespace fovea::test::bank
