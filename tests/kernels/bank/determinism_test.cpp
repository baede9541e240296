// determinism_test.cpp: what a row gives does not depend on its company.
// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(CompanyFull, kernels_for({"full"}));
FOVEA_BANK(CompanyPlain, kernels_for({"full", "causal"}));
FOVEA_BANK(CompanyDenseMask, kernels_for({"test_dense_mask"}));

// Numbers of rows, fewest and most, that one arithmetic is for: decode has code of its own for a
// single row, and in bf16, where its widest tile multiplies pairs of values, for that.
std::vector<std::pair<int64_t, int64_t>> rows_of_one_arithmetic(const TestKernel& kernel) {
  constexpr int64_t most = 12;
  if (!kernel.decodes()) return {{1, most}};
  const fovea_decode_info& info = *kernel.info().decode;
  if (kernel.dtype() != FOVEA_BF16 || info.part_count < 3) return {{2, most}};
  const int64_t narrower = info.parts[info.part_count - 2].rows;
  return {{2, narrower}, {narrower + 1, most}};
}

// https://github.com/ml-explore/mlx/issues/3573
TEST_P(CompanyFull, Row128ANinthQueryChangesNoBit) {
  for (const auto& [fewest, most] : rows_of_one_arithmetic(GetParam())) {
    Random random("row 128", 0);
    Problem all(GetParam(), setup_of(most, 130), random);
    const Results expected = all.checked_run();
    for (int64_t rows = fewest; rows < most; ++rows) {
      Problem fewer(all, setup_of(rows, 130));
      const Results got = fewer.checked_run();
      for (int64_t d = 0; d < 64; ++d)
        ASSERT_EQ(got.at(0, 0, 0, d), expected.at(0, 0, 0, d)) << rows;
    }
  }
}

// https://github.com/PriorLabs/TabPFN/issues/800
TEST_P(CompanyPlain, Row130ABatchGivesTheBitsOfItsSequences) {
  for (const int64_t length : {7, 65, 600}) {
    CallSetup setup = setup_of(length, length);
    setup.batch = 8;
    setup.threads = 2;
    Random random("row 130", static_cast<uint64_t>(length));
    Problem eight(GetParam(), setup, random);
    const Results together = eight.checked_run();
    for (const int64_t b : {0, 3, 7}) {
      Problem alone(GetParam(), setup_of(length, length));
      const auto sequence = [b](const StridedTensor& t) {
        return [&t, b](int64_t, int64_t h, int64_t row, int64_t d) {
          return static_cast<double>(t.at(b, h, row, d));
        };
      };
      alone.fill_q(sequence(eight.q));
      alone.fill_k(sequence(eight.k));
      alone.fill_v(sequence(eight.v));
      const Results single = alone.checked_run();
      for (int64_t i = 0; i < length; ++i)
        for (int64_t d = 0; d < 64; ++d)
          ASSERT_EQ(single.at(0, 0, i, d), together.at(b, 0, i, d)) << length << ", row " << i;
    }
  }
}

// https://github.com/pytorch/pytorch/issues/165838: causal as a formula and as a table
TEST_P(CompanyDenseMask, Row131FormulaAndTableAgreeAndRepeat) {
  for (const auto& [length, runs] : {std::pair<int64_t, int>{16, 500}, {130, 20}, {2048, 2}}) {
    Random random("row 131", static_cast<uint64_t>(length));
    Problem table(GetParam(), setup_of(length, length), random);
    std::vector<double> keep;
    for (int64_t i = 0; i < length; ++i)
      for (int64_t k = 0; k < length; ++k) keep.push_back(k <= i ? 1 : 0);
    table.params.set_table("keep", {length, length}, keep);
    const Results first = table.checked_run();
    for (int run = 1; run < runs; ++run) {
      ASSERT_EQ(table.run(), FOVEA_OK) << fovea_last_message();
      ASSERT_EQ(bit_difference(table.results(), first), "") << "run " << run;
    }
    const int64_t step = std::max<int64_t>(1, length / 64);
    for (const TestKernel& causal : kernels_of("causal", 64, 64)) {
      if (causal.info().target != GetParam().info().target) continue;
      if (causal.dtype() != GetParam().dtype()) continue;
      Problem formula(causal, setup_of(length, length));
      formula.fill_q(copy_of(table.q));
      formula.fill_k(copy_of(table.k));
      formula.fill_v(copy_of(table.v));
      const Expected expected = expected_results(formula, step);
      EXPECT_EQ(compare(first, expected), "");
      EXPECT_EQ(compare(formula.checked_run(), expected), "");
    }
  }
}

}  // namespace
}  // namespace fovea::test::bank
