// determinism_test.cpp: the same inputs give the same bits, for any threads, order and company.
// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/problem.h"

namespace fovea::test {
namespace {

class Determinism : public KernelTest {
 protected:
  CallSetup several_items() const {
    CallSetup setup = plain_setup(2 * GetParam().info().block_rows + 1, 70, 4, 2);
    setup.batch = 2;
    setup.q_len = {static_cast<int32_t>(setup.q_rows), 3};
    want_all_outputs(setup, GetParam());
    return setup;
  }
};
FOVEA_FOR_KERNELS(Determinism, all_kernels());

// A pool of the caller that runs the last task first, one after the other.
int backwards(void*, int32_t count, fovea_task task, void* closure) {
  for (int32_t i = count - 1; i >= 0; --i) {
    if (const int code = task(closure, i); code != 0) return code;
  }
  return 0;
}

TEST_P(Determinism, AnyNumberOfThreads) {
  Random random(GetParam().info().name, 600);
  CallSetup setup = several_items();
  Problem problem(GetParam(), setup, random);
  const Results expected = problem.checked_run();
  for (const int32_t threads : {1, 2, 3, 5}) {
    for (const Workspace workspace : {Workspace::None, Workspace::Exact}) {
      count_case();
      setup.threads = threads;
      setup.workspace = workspace;
      Problem again(problem, setup);
      EXPECT_EQ(bit_difference(again.checked_run(), expected), "") << threads << " threads";
      if (threads == 1) continue;
      again.exec.parallel_for = backwards;
      EXPECT_EQ(bit_difference(again.checked_run(), expected), "") << threads << " backwards";
    }
  }
}

TEST_P(Determinism, RepeatedRuns) {
  Random random(GetParam().info().name, 601);
  CallSetup setup = several_items();
  setup.threads = 2;
  Problem problem(GetParam(), setup, random);
  const Results expected = problem.checked_run();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();
    ASSERT_EQ(bit_difference(problem.results(), expected), "") << i;
  }
  count_case();
}

// https://github.com/h2oai/datatable/issues/1758: the child has the parent's pool without its
// threads. Its calls run on the calling thread, with the same bits.
TEST(Fork, Row139ChildOfAProcessThatUsedThePool) {
  for (const TestKernel& kernel : all_kernels()) {
    if (!why_not_runnable(kernel.target()).empty()) continue;
    Random random(kernel.info().name, 603);
    CallSetup setup = plain_setup(4 * kernel.info().block_rows, 70, 4, 2);
    setup.threads = 3;
    setup.wants_lse = (kernel.variant().outputs & FOVEA_OUTPUT_LSE) != 0;
    Problem problem(kernel, setup, random);
    const Results expected = problem.checked_run();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);  // a deadlock ends the child, not the whole run
      _exit(problem.run() == FOVEA_OK && bit_difference(problem.results(), expected).empty() ? 0
                                                                                             : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << kernel.info().name;
    EXPECT_EQ(bit_difference(problem.checked_run(), expected), "") << "in the parent";
    count_case();
    break;  // the pool is that of the library, not of a kernel
  }
}

// Calls of all kernels at once, from several threads, each with its own shapes.
TEST(Concurrency, CallsDoNotDisturbEachOther) {
  struct Call {
    std::unique_ptr<Problem> problem;
    Results expected;
  };
  std::vector<Call> calls;
  for (const TestKernel& kernel : all_kernels()) {
    if (!why_not_runnable(kernel.target()).empty()) continue;
    Random random(kernel.info().name, 602);
    CallSetup setup = random_setup(kernel, random);
    setup.threads = static_cast<int32_t>(random.integer(1, 3));
    calls.push_back({std::make_unique<Problem>(kernel, setup, random), {}});
    calls.back().expected = calls.back().problem->checked_run();
  }
  std::atomic<size_t> wrong{0};
  for (int round = 0; round < 3; ++round) {
    std::atomic<size_t> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (size_t at = next++; at < calls.size(); at = next++) {
          Problem& problem = *calls[at].problem;
          if (problem.run() != FOVEA_OK ||
              !bit_difference(problem.results(), calls[at].expected).empty()) {
            ++wrong;
          }
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(wrong.load(), 0U);
  count_case(static_cast<int64_t>(3 * calls.size()));
}

}  // namespace
}  // namespace fovea::test
