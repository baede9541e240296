// main.cpp: runs the tests over the generated libraries; says what was generated.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "tests/support/random.h"
#include "tests/support/test_kernel.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  if (testing::GTEST_FLAG(list_tests)) return failed;
  std::printf("%" PRId64 " generated cases, FOVEA_TEST_SEED=%" PRIu64 "; %d tests skipped\n",
              fovea::test::counted_cases(), fovea::test::base_seed(), all.skipped_test_count());
  if (failed != 0) return failed;
  // A filter that no longer matches anything would pass for ever.
  if (all.test_to_run_count() == 0) return 1;
  constexpr int skipped = 77;  // known to CTest
  return all.skipped_test_count() == all.test_to_run_count() ? skipped : 0;
}
