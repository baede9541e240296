// worker_process_test.cpp: conversations with processes that behave, and with others.
// SPDX-License-Identifier: Apache-2.0
#include "bench/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/contender.h"
#include "bench/shared_memory.h"
#include "tests/generators/scratch_folder.h"

namespace fovea::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class WorkerProcessTest : public ::testing::Test {
 protected:
  // What the worker says after `program`, a piece of Python, has begun.
  std::string complaint(const std::string& program, double timeout_s) {
    WorkerProcess worker({FOVEA_TEST_PYTHON, "-c", program}, memory_.descriptor(),
                         folder_.path() / "log");
    try {
      worker.ask({{"op", "hello"}}, timeout_s);
    } catch (const Unavailable& reason) {
      EXPECT_FALSE(worker.alive());
      EXPECT_THROW(worker.ask({{"op", "hello"}}, timeout_s), Unavailable);
      return reason.what();
    }
    return "answered";
  }

  ScratchFolder folder_;
  SharedMemory memory_;
};

TEST_F(WorkerProcessTest, AnswersAndSharesMemory) {
  memory_.resize(4096);
  WorkerProcess worker({FOVEA_TEST_PYTHON, "-c",
                        "import mmap, os\n"
                        "print('noise')\n"
                        "for line in os.fdopen(3, 'rb'):\n"
                        "    memory = mmap.mmap(4, 4096)\n"
                        "    memory[7] = memory[6] + 1\n"
                        "    os.write(3, b'{\"got\": ' + line.strip() + b'}\\n')\n"},
                       memory_.descriptor(), folder_.path() / "log");
  for (unsigned char i = 0; i < 3; ++i) {
    memory_.data()[6] = i;
    EXPECT_EQ(worker.ask({{"op", i}}, 30)["got"]["op"], i);
    EXPECT_EQ(memory_.data()[7], i + 1);
  }
}

TEST_F(WorkerProcessTest, AnEndIsReportedWithItsLastWords) {
  EXPECT_THAT(complaint("print('out of memory'); raise SystemExit(3)", 30),
              AllOf(HasSubstr("ended"), HasSubstr("exit status 3"), HasSubstr("out of memory")));
  EXPECT_THAT(complaint("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 30),
              HasSubstr("signal 9"));
}

TEST_F(WorkerProcessTest, SilenceEndsWithTheTime) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(complaint("import time; time.sleep(1000)", 0.3), HasSubstr("no answer within 0.3 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(WorkerProcessTest, OnlyObjectsAreAnswers) {
  for (const char* answer : {"hello", "[1]", ""}) {
    EXPECT_THAT(complaint(std::string("import os, time\nos.write(3, b'") + answer +
                              "\\n')\ntime.sleep(1000)",
                          30),
                AllOf(HasSubstr(answer), HasSubstr("not a JSON object")));
  }
}

TEST_F(WorkerProcessTest, AProgramThatIsNotThere) {
  EXPECT_THROW(WorkerProcess({"no-such-program"}, memory_.descriptor(), folder_.path() / "log"),
               Unavailable);
}

}  // namespace
}  // namespace fovea::bench
