// threads_test.cpp: calls from many threads, and threads of one call.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "tests/kernels/bank/bank.h"

namespace fovea::test::bank {
namespace {

FOVEA_BANK(Threads, kernels_for({"causal"}));

// Calls of one kernel, each with shapes of its own, and what each gives alone.
struct Calls {
  std::vector<std::unique_ptr<Problem>> problems;
  std::vector<Results> expected;

  Calls(const TestKernel& kernel, int count, int32_t threads) {
    for (int i = 0; i < count; ++i) {
      CallSetup setup = plain_setup(kernel.decodes() ? 1 + i % 3 : 5 + 17 * i, 60 + 31 * i, 4, 2);
      setup.wants_lse = false;
      setup.batch = 1 + i % 2;
      setup.threads = threads;
      Random random("threads", i);
      problems.push_back(std::make_unique<Problem>(kernel, setup, random));
      expected.push_back(problems.back()->checked_run());
    }
  }

  // All at once, each on a thread of its own. How many went wrong.
  int run_at_once(int rounds) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < problems.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < rounds; ++round) {
          if (problems[i]->run() != FOVEA_OK ||
              !bit_difference(problems[i]->results(), expected[i]).empty())
            ++wrong;
        }
      });
    }
    for (std::thread& t : threads) t.join();
    return wrong;
  }
};

// https://github.com/microsoft/onnxruntime/pull/21498: one kernel has no state between its calls
TEST_P(Threads, Row133EightThreadsEachWithItsOwnShape) {
  Calls calls(GetParam(), 8, 1);
  EXPECT_EQ(calls.run_at_once(10), 0);
  count_case(8);
}

// https://github.com/EricLBuehler/mistral.rs/issues/1669: nor does the pool they share
TEST_P(Threads, Row134FiveCallsShareThePool) {
  Calls calls(GetParam(), 5, 2);
  EXPECT_EQ(calls.run_at_once(10), 0);
  count_case(5);
}

// https://github.com/halide/Halide/issues/9377: a waiting thread that takes further work onto its
// stack; kernels start nothing of their own, so the depth does not depend on the number of items
TEST_P(Threads, Row137ManyItemsOnASmallStack) {
  CallSetup setup = plain_setup(1, 1);
  setup.wants_lse = false;
  setup.batch = 100000;
  setup.threads = 3;
  Problem problem(GetParam(), setup);
  const auto number = [](int64_t b, int64_t, int64_t, int64_t d) {
    return static_cast<double>(b % 100 + d % 4);
  };
  problem.fill_v(number);
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 19), 0);
  pthread_t thread;
  const auto call = [](void* argument) -> void* {
    static_cast<Problem*>(argument)->run();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, call, &problem), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  // A single visible key: its values are the output.
  const Results got = problem.results();
  for (int64_t b = 0; b < setup.batch; b += 333) {
    for (int64_t d = 0; d < GetParam().info().d_v; ++d)
      ASSERT_EQ(got.at(b, 0, 0, d), static_cast<float>(number(b, 0, 0, d))) << b;
  }
  count_case();
}

// https://github.com/uxlfoundation/oneDNN/issues/1464: threads of many callers do not multiply
TEST_P(Threads, Row143CallersDoNotMultiplyThreads) {
  constexpr int callers = 16;
  const auto threads_now = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  Calls calls(GetParam(), callers, 8);
  std::atomic<bool> done{false};
  std::ptrdiff_t most = 0;
  std::thread watch([&] {
    while (!done) {
      most = std::max<std::ptrdiff_t>(most, threads_now());
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(calls.run_at_once(5), 0);
  done = true;
  watch.join();
  // This one, the one that watches, the callers, and the pool of the library: one in all, of as
  // many threads as the machine has CPUs, eight at least, since that was asked for.
  const int pool = std::max(8, fovea_default_threads());
  EXPECT_LE(most, 2 + callers + pool);
  EXPECT_GE(most, 2);
  count_case(callers);
}

}  // namespace
}  // namespace fovea::test::bank
