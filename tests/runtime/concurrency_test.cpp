// Calls from many threads at once, each with its own message.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fake_library.h"

namespace fovea::test {
namespace {

constexpr int kThreads = 8;

template <typename Work>
void on_many_threads(const Work& work) {
  std::vector<std::thread> threads;
  std::atomic<int> waiting{kThreads};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      // First calls are to meet: detection and defaults are read by all of them.
      --waiting;
      while (waiting.load() > 0) std::this_thread::yield();
      work(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Concurrency, MixedCallsGiveWhatTheyGiveAlone) {
  forget_seen();
  on_many_threads([](int i) {
    for (int round = 0; round < 20; ++round) {
      Attention a(static_cast<Variant>(i % 3), 1 + i % 3, 4, 2, 5 + 7 * i, 3 + round);
      a.exec.threads = 1 + (i + round) % 3;
      const fovea_status status = a.run();
      ASSERT_EQ(status, FOVEA_OK) << fovea_last_message();
      for (const float x : a.out) ASSERT_EQ(x, 1.0F);
    }
  });
  for (const Seen& s : seen()) EXPECT_TRUE(s.scratch_ok);
}

TEST(Concurrency, MessagesBelongToTheirThread) {
  Attention failing;
  failing.call.q.extent[2] = -1;
  ASSERT_EQ(failing.run(), FOVEA_INVALID_ARGUMENT);
  const std::string mine = fovea_last_message();
  on_many_threads([](int i) {
    EXPECT_STREQ(fovea_last_message(), "");
    Attention a;
    a.exec.threads = -1 - i;
    for (int round = 0; round < 50; ++round) {
      ASSERT_EQ(a.run(), FOVEA_INVALID_ARGUMENT);
      ASSERT_EQ(std::string(fovea_last_message())
                    .rfind("exec.threads = " + std::to_string(-1 - i) + ":", 0),
                0U);
    }
  });
  EXPECT_EQ(fovea_last_message(), mine);
}

TEST(Concurrency, MaskMayChangeWhileCallsRun) {
  std::atomic<bool> done{false};
  std::thread changer([&] {
    while (!done.load()) {
      fovea_set_enabled_targets("x86-sse41");
      fovea_set_enabled_targets(nullptr);
    }
  });
  on_many_threads([](int) {
    for (int round = 0; round < 20; ++round) {
      Attention a(kPlain, 1, 4, 2, 40, 3);
      ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    }
  });
  done = true;
  changer.join();
  fovea_set_enabled_targets(nullptr);
}

TEST(Messages, EmptyAfterSuccessAndNeverNull) {
  Attention a;
  a.exec.threads = -1;
  ASSERT_NE(a.run(), FOVEA_OK);
  EXPECT_STRNE(fovea_last_message(), "");
  a.exec.threads = 1;
  ASSERT_EQ(a.run(), FOVEA_OK);
  EXPECT_STREQ(fovea_last_message(), "");
}

TEST(Messages, LongNamesAreCut) {
  Attention a;
  const std::string name(5000, 'n');
  a.exec.target = name.c_str();
  EXPECT_EQ(a.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_LT(std::string(fovea_last_message()).size(), 400U);
  EXPECT_EQ(fovea_set_enabled_targets(name.c_str()), FOVEA_INVALID_ARGUMENT);
  EXPECT_LT(std::string(fovea_last_message()).size(), 400U);
}

TEST(StatusNames, AreThereForEveryValue) {
  EXPECT_STREQ(fovea_status_name(FOVEA_OK), "ok");
  EXPECT_STREQ(fovea_status_name(FOVEA_KERNEL_FAILED), "kernel failed");
  EXPECT_STREQ(fovea_status_name(static_cast<fovea_status>(7)), "unknown status");
}

}  // namespace
}  // namespace fovea::test
