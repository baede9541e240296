// strides_test.cpp: tensors that do not lie densely, or not on a vector's boundary.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(StridesFull, kernels_for({"full"}));
FOVEA_BANK(StridesDenseMask, kernels_for({"test_dense_mask"}));
FOVEA_BANK(StridesFullBias, kernels_for({"test_full_bias"}));
FOVEA_BANK(StridesOddRows, kernels_where([](const TestKernel& k) {
             return k.variant_name() == "full" && k.info().d_qk % 4 == 3 && k.info().d_qk < 16;
           }));

// https://github.com/pytorch/pytorch/pull/187506: features that do not lie next to each other
TEST_P(StridesFull, Row67ATransposedViewIsRefused) {
  Random random("row 67", 0);
  Problem problem(GetParam(), setup_of(64, 64), random);
  const auto transpose = [](fovea_tensor& t) { std::swap(t.stride[2], t.stride[3]); };
  for (const auto& [name, tensor] : {std::pair{"q.stride[3]", &problem.call.q},
                                     {"k.stride[3]", &problem.call.k},
                                     {"v.stride[3]", &problem.call.v},
                                     {"out.stride[3]", &problem.call.out}}) {
    transpose(*tensor);
    expect_refused(problem, FOVEA_INVALID_ARGUMENT, name);
    transpose(*tensor);
  }
  EXPECT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();
}

// https://github.com/pytorch/pytorch/issues/163597
TEST_P(StridesFull, Row68HeadsAndRowsExchanged) {
  for (const int64_t rows : {2, 8, 9}) {
    Random random("row 68", static_cast<uint64_t>(rows));
    CallSetup setup = setup_of(rows, rows, 4, 4);
    Problem contiguous(GetParam(), setup, random);
    setup.q = setup.k = setup.v = bshd();
    Problem exchanged(contiguous, setup);
    EXPECT_EQ(bit_difference(exchanged.checked_run(), contiguous.checked_run()), "") << rows;
  }
}

// https://github.com/pytorch/pytorch/issues/191937
TEST_P(StridesDenseMask, Row70OneKvHeadForAllByAStrideOfZero) {
  for (const int64_t keys : {33, 34, 65}) {
    CallSetup setup = setup_of(5, keys, 4, 4);
    setup.q_offset = {0};
    setup.k.shared[1] = setup.v.shared[1] = true;
    Random random("row 70", static_cast<uint64_t>(keys));
    Problem shared(GetParam(), setup, random);
    std::vector<double> keep(static_cast<size_t>(5 * keys));
    for (size_t i = 0; i < keep.size(); ++i) keep[i] = i % 3 != 0 ? 1 : 0;
    shared.params.set_table("keep", {5, keys}, keep);
    expect_accurate(shared);
    setup.k = setup.v = Layout{};
    Problem copies(shared, setup);
    EXPECT_EQ(bit_difference(shared.results(), copies.checked_run()), "") << keys;
  }
}

// https://github.com/pytorch/pytorch/issues/133671
TEST_P(StridesFull, Row71TheOutputLiesWhereItsStridesSay) {
  Random random("row 71", 0);
  CallSetup setup = setup_of(3, 5, 2, 2);
  setup.batch = 2;
  Problem heads_first(GetParam(), setup, random);
  setup.out = bshd();
  Problem rows_first(heads_first, setup);
  ASSERT_NE(heads_first.call.out.stride[1], rows_first.call.out.stride[1]);
  EXPECT_EQ(bit_difference(rows_first.checked_run(), heads_first.checked_run()), "");
}

// https://github.com/tile-ai/tilelang/issues/2526
TEST_P(StridesFull, Row73TheFirstElementHasAnyAddress) {
  Random random("row 73", 0);
  CallSetup setup = setup_of(3, 70);
  Problem aligned(GetParam(), setup, random);
  const Results expected = aligned.checked_run();
  for (Layout CallSetup::* moved : {&CallSetup::q, &CallSetup::k, &CallSetup::v, &CallSetup::out}) {
    CallSetup odd = setup;
    (odd.*moved).edge = Edge::Start;
    (odd.*moved).distance = 1;
    Problem problem(aligned, odd);
    EXPECT_EQ(bit_difference(problem.checked_run(), expected), "") << problem.text();
  }
}

// https://github.com/RedisAI/VectorSimilarity/pull/990: on every instruction set, the lowest first
TEST_P(StridesOddRows, Row74RowsThatAreNoMultipleOfAVector) {
  for (int64_t distance = 0; distance < 4; ++distance) {
    for (const Edge edge : {Edge::Start, Edge::End}) {
      CallSetup setup = setup_of(3, 9, 2, 1);
      for (Layout* layout : {&setup.q, &setup.k, &setup.v, &setup.out}) {
        layout->edge = edge;
        layout->distance = distance;
      }
      Random random("row 74", static_cast<uint64_t>(distance));
      Problem problem(GetParam(), setup, random);
      expect_accurate(problem);
    }
  }
}

// https://github.com/facebookresearch/xformers/issues/813
TEST_P(StridesFullBias, Row76RowsOfABiasNeedNoPadding) {
  Random random("row 76", 0);
  Problem problem(GetParam(), setup_of(43, 43, 16, 16), random);
  std::vector<double> bias;
  for (int i = 0; i < 16 * 43 * 43; ++i) bias.push_back(random.real(-2, 2));
  problem.params.set_table("bias", {1, 16, 43, 43}, bias);
  expect_accurate(problem);
}

}  // namespace
}  // namespace fovea::test::bank
