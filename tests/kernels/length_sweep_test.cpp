// length_sweep_test.cpp: every length up to two blocks and one, of queries and of keys.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

int64_t key_block_of(const TestKernel& kernel) {
  constexpr int64_t longest_of_prefill = 128;
  return kernel.decodes() ? kernel.info().decode->key_block : longest_of_prefill;
}

// Small head dimensions make the reference quick; each of the two has a vector loop with a tail or
// without one.
class LengthSweep : public KernelTest {};
FOVEA_FOR_KERNELS(LengthSweep, kernels_where([](const TestKernel& k) {
                    return k.info().d_qk == 8 &&
                           (k.variant_name() == "causal" || k.variant_name() == "full");
                  }));

void check_lengths(const TestKernel& kernel, int64_t q_rows, int64_t kv_rows) {
  Random random("length sweep", static_cast<uint64_t>(q_rows * 1000 + kv_rows));
  CallSetup setup = plain_setup(q_rows, kv_rows);
  setup.q.edge = setup.v.edge = kv_rows % 2 == 0 ? Edge::Start : Edge::End;
  if (kv_rows % 3 == 0) setup.q_offset = {0};
  Problem problem(kernel, setup, random);
  expect_accurate(problem);
}

TEST_P(LengthSweep, EveryNumberOfKeys) {
  const int64_t rows = GetParam().info().block_rows;
  for (int64_t kv = 0; kv <= 2 * key_block_of(GetParam()) + 1 && !HasFailure(); ++kv) {
    for (const int64_t q : {int64_t{1}, rows - 1, rows + 2}) check_lengths(GetParam(), q, kv);
  }
}

TEST_P(LengthSweep, EveryNumberOfQueries) {
  for (int64_t q = 1; q <= 2 * GetParam().info().block_rows + 1 && !HasFailure(); ++q) {
    for (const int64_t kv : {1, 5, 63, 64, 65, 128, 130, 258}) check_lengths(GetParam(), q, kv);
  }
}

TEST_P(LengthSweep, EveryLengthInOneBatch) {
  const int64_t rows = GetParam().info().block_rows;
  CallSetup setup = plain_setup(2 * rows + 1, key_block_of(GetParam()) + 1, 2);
  setup.batch = setup.q_rows + 1;
  for (int64_t b = 0; b < setup.batch; ++b) {
    setup.q_len.push_back(static_cast<int32_t>(b));
    setup.kv_len.push_back(static_cast<int32_t>((b * 37) % (setup.kv_rows + 1)));
  }
  setup.threads = 2;
  Random random("length batch", 0);
  Problem problem(GetParam(), setup, random);
  expect_accurate(problem);
  count_case(setup.batch);
}

}  // namespace
}  // namespace fovea::test
