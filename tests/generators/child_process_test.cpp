// child_process_test.cpp: exit codes, signals, limits and failures of child processes.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "generators/emit/files.h"
#include "scratch_folder.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

class Children : public ::testing::Test {
 protected:
  ChildJob shell(const std::string& name, const std::string& script) const {
    return {name, {"sh", "-c", script}, log(name)};
  }
  std::filesystem::path log(const std::string& name) const { return folder_.path() / name; }

  // Runs the jobs and keeps each result by the job's name.
  bool run(const std::vector<ChildJob>& jobs, int at_once) {
    results_.clear();
    return run_children(jobs, at_once, [&](size_t i, const ChildResult& r) {
      EXPECT_TRUE(results_.emplace(jobs.at(i).name, r).second) << "reported twice";
    });
  }

  ScratchFolder folder_;
  std::map<std::string, ChildResult> results_;
};

TEST_F(Children, ThatTakeTooLongAreKilledWithWhatTheyStarted) {
  ChildJob slow = shell("slow", "sleep 600 & echo $! ; wait");
  slow.limits.seconds = 0.3;
  EXPECT_FALSE(run({slow}, 1));
  EXPECT_TRUE(results_.at("slow").timed_out);
  EXPECT_EQ(results_.at("slow").how, "no end after 0.3 s");
  // It may need a moment to be gone, and be nobody's child until it is collected.
  const std::string state = "/proc/" + std::to_string(std::stoi(read_file(log("slow")))) + "/stat";
  EXPECT_TRUE(
      run({shell("gone", "for i in $(seq 500); do [ -e " + state + " ] && ! grep -q ') Z' " +
                             state + " || exit 0; sleep 0.01; done; exit 1")},
          1));
  ChildJob quick = shell("quick", "exit 0");
  quick.limits.seconds = 60;
  EXPECT_TRUE(run({quick}, 1));
  EXPECT_FALSE(results_.at("quick").timed_out);
}

TEST_F(Children, ThatMayHaveLittleMemoryDoNotGetMore) {
  ChildJob job = shell("large", "head -c 400000000 /dev/zero | tail | wc -c");
  EXPECT_TRUE(run({job}, 1));
  EXPECT_EQ(std::stoi(read_file(log("large"))), 400000000);
  job.limits.bytes = size_t{100} << 20;
  run({job}, 1);
  EXPECT_THAT(read_file(log("large")), HasSubstr("memory"));
}

TEST_F(Children, ReportHowTheyEnded) {
  EXPECT_TRUE(run({shell("good", "exit 0")}, 1));
  EXPECT_TRUE(results_.at("good").ok);
  EXPECT_EQ(results_.at("good").how, "exit status 0");
  EXPECT_FALSE(run({shell("bad", "exit 3")}, 1));
  EXPECT_FALSE(results_.at("bad").ok);
  EXPECT_EQ(results_.at("bad").how, "exit status 3");
  EXPECT_FALSE(run({shell("killed", "kill -ABRT $$")}, 1));
  EXPECT_FALSE(results_.at("killed").ok);
  EXPECT_EQ(results_.at("killed").how, "signal 6 (Aborted)");
}

TEST_F(Children, WriteBothStreamsToTheLogAndReadNothing) {
  EXPECT_TRUE(run({shell("both", "echo out; echo err >&2; cat")}, 1));
  EXPECT_EQ(read_file(log("both")), "out\nerr\n");
}

TEST_F(Children, GetTheirArgumentsUnchanged) {
  EXPECT_TRUE(run({{"echo", {"printf", "[%s]", "a b", "", "$HOME", "'"}, log("echo")}}, 1));
  EXPECT_EQ(read_file(log("echo")), "[a b][][$HOME][']");
}

TEST_F(Children, NoJobsAreASuccess) { EXPECT_TRUE(run({}, 2)); }

TEST_F(Children, NeverMoreThanAllowedAtOnce) {
  // Each appends a line when it begins and when it ends; the lines count who was there together.
  const std::string trace = log("trace").string();
  for (const int at_once : {1, 2, 3}) {
    std::vector<ChildJob> jobs;
    for (int i = 0; i < 7; ++i)
      jobs.push_back(shell("job" + std::to_string(i),
                           "echo + >>" + trace + "; sleep 0.05; echo - >>" + trace));
    write_if_changed(trace, "");
    EXPECT_TRUE(run(jobs, at_once));
    EXPECT_EQ(results_.size(), jobs.size());
    int running = 0, most = 0, begun = 0;
    for (const char c : read_file(trace)) {
      begun += c == '+';
      running += (c == '+') - (c == '-');
      most = std::max(most, running);
    }
    EXPECT_EQ(begun, 7);
    EXPECT_LE(most, at_once);
    EXPECT_GE(most, std::min(at_once, 2));
  }
}

TEST_F(Children, AFailureStopsTheRest) {
  const std::string late = log("late").string();
  EXPECT_FALSE(run({shell("first", "exit 1"), shell("second", "touch " + late)}, 1));
  EXPECT_EQ(results_.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(late));
  // Those already running are waited for.
  EXPECT_FALSE(run({shell("slow", "sleep 0.2; touch " + late), shell("fails", "exit 1"),
                    shell("never", "exit 0")},
                   2));
  EXPECT_EQ(results_.size(), 2u);
  EXPECT_TRUE(results_.at("slow").ok);
  EXPECT_TRUE(std::filesystem::exists(late));
}

TEST_F(Children, MissingProgramsAreNamed) {
  const std::string late = log("late").string();
  try {
    run({shell("slow", "sleep 0.2; touch " + late),
         {"missing", {"fovea-no-such-program"}, log("missing")}},
        2);
    FAIL() << "started a missing program";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot start 'fovea-no-such-program'"));
    EXPECT_THAT(error.what(), HasSubstr("No such file or directory"));
  }
  // Not before the other one had ended: a build that goes on would race with it.
  EXPECT_TRUE(std::filesystem::exists(late));
  EXPECT_TRUE(results_.at("slow").ok);
}

TEST_F(Children, ALogThatCannotBeWrittenIsNamed) {
  const std::string path = log("no_such_folder").string() + "/log";
  try {
    run({{"job", {"true"}, path}}, 1);
    FAIL() << "wrote a log into a missing folder";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
  }
}

TEST_F(Children, AtLeastOneAtOnce) {
  for (const int at_once : {0, -1}) {
    EXPECT_THROW(run({shell("job", "true")}, at_once), std::invalid_argument);
    EXPECT_TRUE(results_.empty());
  }
}

TEST_F(Children, RunProgramThrowsWithTheOutput) {
  run_program({"true"}, log("log"));
  try {
    run_program({"sh", "-c", "echo the reason; exit 7"}, log("log"));
    FAIL() << "a failure went unnoticed";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "'sh' failed with exit status 7:\nthe reason\n");
  }
}

}  // namespace
}  // namespace fovea
