// untrusted_input_test.cpp: numbers that come from outside and index memory.
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(UntrustedPlain, kernels_for({"full", "causal", "padded"}));
FOVEA_BANK(UntrustedPadded, kernels_for({"padded"}));

// https://github.com/microsoft/onnxruntime/pull/27789
TEST_P(UntrustedPadded, Row178ANegativeLengthHidesEverything) {
  CallSetup setup = setup_of(3, 5);
  setup.batch = 2;
  Problem problem(GetParam(), setup);
  for (const double length : {-1.0, -2147483648.0}) {
    problem.params.set_table("length", {2}, {length, length});
    expect_means(problem, {empty, empty, empty});
  }
  problem.params.set_table("length", {2}, {2147483647, 5});
  expect_means(problem, {3, 3, 3});
}

// https://github.com/microsoft/onnxruntime/pull/28031
TEST_P(UntrustedPlain, Row179LengthsOutsideOfTheCapacityAreRefused) {
  for (const int32_t length : {-5, -1, 6, INT32_MAX, INT32_MIN}) {
    CallSetup setup = setup_of(3, 5);
    setup.batch = 2;
    Random random("row 179", 0);
    Problem problem(GetParam(), setup, random);
    const int32_t lengths[] = {5, length};
    problem.call.kv_len = lengths;
    expect_refused(problem, FOVEA_INVALID_ARGUMENT, "kv_len[1]");
    problem.call.kv_len = nullptr;
    problem.call.q_len = lengths;
    const int32_t rows[] = {3, length};
    problem.call.q_len = rows;
    expect_refused(problem, FOVEA_INVALID_ARGUMENT, "q_len[1]");
  }
}

}  // namespace
}  // namespace fovea::test::bank
