// lse_merge_test.cpp: the logarithm that lets parts of a row be merged.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/fovea.hpp>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(LseFull, kernels_of_any_size({"full"}));

// Two calls over keys of their own, as one call. fovea_merge itself: tests/runtime/merge_test.cpp.
Results merged(Results first, Results second) {
  const auto as_part = [](Results& r) -> fovea_partial {
    return {tensor(r.out.data(), {r.batch, r.heads, r.rows, r.d_v}),
            lse_tensor(r.lse.data(), r.batch, r.heads, r.rows)};
  };
  const fovea_partial parts[] = {as_part(first), as_part(second)};
  EXPECT_EQ(merge(parts, parts[1]).code(), FOVEA_OK) << fovea_last_message();
  return second;
}

// https://github.com/flashinfer-ai/flashinfer/pull/4401: the two keys belong to calls apart
TEST_P(LseFull, Row14LogitsBelowAnySentinelInParts) {
  for (const double logit : {-1e5, -5e4, -1e10, -0.9e29}) {
    std::vector<Results> parts;
    for (const double value : {1, 3}) {
      CallSetup setup = setup_of(1, 1);
      // Numbers of f16 are not that large: the scale is.
      const double scale = GetParam().dtype() == FOVEA_F32 ? 1 : -logit;
      setup.scale = static_cast<float>(scale);
      Problem problem(GetParam(), setup);
      problem.fill_q(first_feature(1));
      problem.fill_k(first_feature(logit / scale));
      problem.fill_v(rows({value}));
      parts.push_back(problem.checked_run());
    }
    for (const float x : merged(parts[0], parts[1]).out) EXPECT_EQ(x, 2) << logit;
  }
}

// https://github.com/flashinfer-ai/flashinfer/issues/4051
// https://github.com/Dao-AILab/flash-attention/pull/978
TEST_P(LseFull, Rows113And115PartsWithoutKeysCanBeMerged) {
  Problem without(GetParam(), setup_of(2, 0));
  Problem with(GetParam(), setup_of(2, 3));
  with.fill_v(key_number);
  const Results empty = without.checked_run(), some = with.checked_run();
  EXPECT_EQ(bit_difference(merged(empty, empty), empty), "");
  EXPECT_EQ(bit_difference(merged(empty, some), some), "");
  EXPECT_EQ(bit_difference(merged(some, empty), some), "");
}

// https://github.com/sgl-project/sglang/pull/35045
TEST_P(LseFull, Row116TheLogarithmIsNatural) {
  Problem problem(GetParam(), setup_of(1, 4));
  EXPECT_NEAR(problem.checked_run().lse[0], std::log(4.0), 2e-7);  // 1.386294
  Problem one(GetParam(), setup_of(1, 1)), three(GetParam(), setup_of(1, 3));
  EXPECT_NEAR(merged(one.checked_run(), three.checked_run()).lse[0], std::log(4.0), 2e-7);
}

// https://github.com/LMCache/LMCache/pull/3092: one row more than a block of rows
TEST_P(LseFull, Row118TheLastRowIsComputed) {
  const int64_t q_rows = GetParam().info().block_rows + 1;
  Problem problem(GetParam(), setup_of(q_rows, 3));
  expect_means(problem, std::vector<double>(static_cast<size_t>(q_rows), 2));
}

}  // namespace
}  // namespace fovea::test::bank
