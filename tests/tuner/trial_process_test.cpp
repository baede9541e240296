// trial_process_test.cpp: what a kernel that misbehaves does to the search: nothing.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/trial_process.h"

#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

namespace fovea {
namespace {

using ::testing::HasSubstr;

class FaultyKernels : public ::testing::Test {
 protected:
  struct Said {
    TrialStatus status = TrialStatus::Ok;
    std::string reason;
  };

  static std::filesystem::path library(const std::string& fault) {
    return std::filesystem::path(FOVEA_TEST_FAULTY_DIR) / ("fovea_faulty_" + fault + ".so");
  }
  TrialProcess process(const std::string& fault, const TrialLimits& limits = {5, size_t{1} << 28}) {
    return {library(fault), {"x86-sse41", "prefill", 1, {}}, {&problem_}, limits};
  }
  Said said(TrialProcess& process) {
    try {
      process.run(0, {1, false, false});
      process.write_output(0);
    } catch (const TrialFailure& failure) {
      return {failure.status(), failure.what()};
    }
    return {};
  }
  Said said_of(const std::string& fault, const TrialLimits& limits = {5, size_t{1} << 28}) {
    TrialProcess p = process(fault, limits);
    const Said first = said(p);
    // Whoever asks again is not kept waiting.
    if (first.status != TrialStatus::Ok) {
      EXPECT_EQ(said(p).status, TrialStatus::Crash);
    }
    return first;
  }

  Variant variant_{"plain"};
  bench::SharedMemory memory_;
  bench::Problem problem_{variant_, "f32", {1, 2, 1, 5, 7, 8, 8}, {}, memory_};
};

TEST_F(FaultyKernels, ThatCrashAreToldBySignal) {
  const Said said = said_of("crash");
  EXPECT_EQ(said.status, TrialStatus::Crash);
  EXPECT_THAT(said.reason, HasSubstr("signal 6"));
}

TEST_F(FaultyKernels, ThatEndTheProcessAreToldByStatus) {
  const Said said = said_of("exit");
  EXPECT_EQ(said.status, TrialStatus::Crash);
  EXPECT_EQ(said.reason, "exit status 3");
}

TEST_F(FaultyKernels, ThatHangAreKilled) {
  const Said said = said_of("hang", {0.2, size_t{1} << 28});
  EXPECT_EQ(said.status, TrialStatus::Timeout);
  EXPECT_THAT(said.reason, HasSubstr("no answer within 0.2 s"));
}

TEST_F(FaultyKernels, ThatTakeTooMuchMemoryAreRefusedIt) {
  EXPECT_EQ(said_of("memory").status, TrialStatus::Memory);
}

TEST_F(FaultyKernels, ThatRefuseTheCallAreToldInTheirWords) {
  const Said said = said_of("refuse");
  EXPECT_EQ(said.status, TrialStatus::Wrong);
  EXPECT_EQ(said.reason, "on purpose");
}

TEST_F(FaultyKernels, ThatAreWrongAreSeenToBe) {
  EXPECT_EQ(said_of("wrong").status, TrialStatus::Ok);
  EXPECT_FALSE(problem_.error().ok());
}

TEST_F(FaultyKernels, ThatWriteNothingDoNotPassWithWhatOthersLeft) {
  auto* out = static_cast<float*>(problem_.call().out.data);
  std::fill(out, out + problem_.out_bytes() / sizeof(float), 7.0f);
  EXPECT_EQ(said_of("silent").status, TrialStatus::Ok);
  EXPECT_FALSE(problem_.error().ok());
}

TEST_F(FaultyKernels, LibrariesThatAreNoneAreTold) {
  TrialProcess p("/dev/null", {"x86-sse41", "prefill", 1, {}}, {&problem_}, {});
  EXPECT_NE(said(p).status, TrialStatus::Ok);
}

TEST_F(FaultyKernels, EndWithTheProcessThatStartedThem) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    // Its child holds the pipe open as well, and hangs.
    TrialProcess p = process("hang", {60, size_t{1} << 28});
    try {
      p.run(0, {1, false, false});
    } catch (const TrialFailure&) {
    }
    _exit(0);
  }
  close(ends[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // The pipe ends when the last process that holds it has.
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace fovea
