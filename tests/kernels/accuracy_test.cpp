// accuracy_test.cpp: every kernel against the reference, over calls of every kind.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

class Accuracy : public KernelTest {};
FOVEA_FOR_KERNELS(Accuracy, all_kernels());

// Guard pages, NaN around the data, layouts, lengths, offsets, groups and parameters are drawn; see
// random_setup.
TEST_P(Accuracy, RandomCalls) {
  constexpr int calls = 100;
  ErrorSummary errors;
  for (int i = 0; i < calls && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i));
    const CallSetup setup = random_setup(GetParam(), random);
    Problem problem(GetParam(), setup, random);
    expect_accurate(problem, &errors);
  }
  // Over all calls together no floor is needed: luck evens out.
  std::printf("%s: %s\n", GetParam().info().name, errors.text().c_str());
  EXPECT_LE(errors.out.typical(), 2 * errors.plain_out.typical()) << errors.text();
  EXPECT_LE(errors.lse.typical(), 2 * errors.plain_lse.typical()) << errors.text();
}

}  // namespace
}  // namespace fovea::test
