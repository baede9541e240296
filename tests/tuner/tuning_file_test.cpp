// tuning_file_test.cpp: lines that are written are read, by whatever many processes they were
// written.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/tuning_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "generators/emit/files.h"
#include "sample_record.h"
#include "scratch_folder.h"

namespace fovea {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(const std::string& line) {
  try {
    parse_record(line);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TuningRecord, ReadsAsItWasWritten) {
  TuningRecord r = sample_record();
  EXPECT_EQ(parse_record(record_line(r)), r);
  for (const TrialStatus status :
       {TrialStatus::Ok, TrialStatus::Slower, TrialStatus::Compile, TrialStatus::Crash,
        TrialStatus::Timeout, TrialStatus::Memory, TrialStatus::Wrong}) {
    for (const Effort effort : {Effort::Screen, Effort::Compare, Effort::Final}) {
      r.status = status, r.effort = effort, r.reason = "signal 11\n\"quoted\"";
      r.timings.clear();
      const std::string line = record_line(r);
      EXPECT_EQ(line.find('\n'), std::string::npos);
      EXPECT_EQ(parse_record(line), r);
    }
  }
}

TEST(TuningRecord, HoldsWhatAReaderNeeds) {
  const nlohmann::ordered_json json = record_json(sample_record());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["kernel"], "fovea_prefill__plain__f32__d64__x86_avx2");
  EXPECT_EQ(json["schedule"]["key_tile"], 2);
  EXPECT_EQ(json["incumbent"]["key_tile"], 4);
  EXPECT_EQ(json["timings"][0]["median_s"], 0.5);
  EXPECT_EQ(json["timings"][0]["mad_s"], 0.25);
  EXPECT_EQ(json["timings"][0]["incumbent_median_s"], 0.75);
  EXPECT_EQ(json["timings"][0]["seconds"].size(), 3u);
}

TEST(TuningRecord, SaysWhatIsWrongWithALine) {
  const std::string good = record_line(sample_record());
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(good);
  for (const auto& [name, value] : json.items()) {
    nlohmann::ordered_json less = json;
    less.erase(name);
    EXPECT_THAT(refusal(less.dump()), HasSubstr(name)) << name;
  }
  json["schema"] = 2;
  EXPECT_THAT(refusal(json.dump()), HasSubstr("schema 2: this program reads 1"));
  json["schema"] = 1, json["status"] = "fine";
  EXPECT_THAT(refusal(json.dump()), HasSubstr("status 'fine': allowed is ok, slower, compile"));
  EXPECT_NE(refusal(good.substr(0, good.size() / 2)), "accepted");
}

TEST(TuningFile, SkipsLinesThatDoNotReadAndSaysWhere) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "a.jsonl";
  const std::string line = record_line(sample_record());
  std::ofstream(file) << line << "\nnonsense\n\n" << line << "\n[1]\n" << line.substr(0, 90);
  const TuningFile read = read_tuning_file(file);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_EQ(read.records[1].place(), "a.jsonl:4");
  EXPECT_THAT(read.problems,
              ElementsAre(HasSubstr("a.jsonl:2: skipped: "), HasSubstr("a.jsonl:5: skipped: "),
                          HasSubstr("a.jsonl:6: skipped: ")));
}

TEST(TuningFile, ClosesALineThatAKilledProcessLeft) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "a.jsonl";
  const std::string line = record_line(sample_record());
  std::ofstream(file) << line << "\n" << line.substr(0, line.size() - 20);
  append_record(file, sample_record("key_tile=8"));
  const TuningFile read = read_tuning_file(file);
  ASSERT_EQ(read.records.size(), 2u);
  EXPECT_THAT(read.records[1].record.schedule, HasSubstr("key_tile=8"));
  EXPECT_EQ(read.problems.size(), 1u);
}

TEST(TuningFile, ManyWritersLoseNothing) {
  constexpr int writers = 6, lines = 40;
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "a.jsonl";
  append_record(file, sample_record());
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (int i = 0; i < lines; ++i) {
        TuningRecord r = sample_record();
        r.reason = fmt::format("writer {} line {} {}", w, i, std::string(5000, 'x'));
        append_record(file, r);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  const TuningFile read = read_tuning_file(file);
  EXPECT_TRUE(read.problems.empty());
  std::set<std::string> reasons;
  for (const StoredRecord& r : read.records) reasons.insert(r.record.reason);
  EXPECT_EQ(read.records.size(), size_t{writers * lines + 1});
  EXPECT_EQ(reasons.size(), size_t{writers * lines + 1});
}

TEST(TuningFile, AWriterThatWaitedWhileTheFileWasReplacedWritesToTheNewOne) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "a.jsonl";
  append_record(file, sample_record());
  for (int round = 0; round < 30; ++round) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      TuningRecord r = sample_record();
      r.reason = fmt::format("round {}", round);
      append_record(file, r);
      _exit(0);
    }
    // What this process puts into its place holds one line; the writer's comes before or after.
    write_tuning_file(file, {sample_record()});
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    const TuningFile read = read_tuning_file(file);
    EXPECT_TRUE(read.problems.empty());
    EXPECT_GE(read.records.size(), 1u);
    EXPECT_LE(read.records.size(), 2u);
  }
}

TEST(TuningFile, IsSortedAndHoldsEachRecordOnceWhenWrittenWhole) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "a.jsonl";
  const TuningRecord a = sample_record("key_tile=2"), b = sample_record("key_tile=8");
  write_tuning_file(file, {b, a, b});
  const std::string first = read_file(file);
  write_tuning_file(file, {a, b});
  EXPECT_EQ(read_file(file), first);
  EXPECT_EQ(read_tuning_file(file).records.size(), 2u);
}

TEST(TuningFile, NamesAFileThatCannotBeRead) {
  const ScratchFolder folder;
  EXPECT_THROW(read_tuning_file(folder.path() / "none.jsonl"), std::runtime_error);
  EXPECT_THROW(read_tuning_file(folder.path()), std::runtime_error);
  EXPECT_THROW(append_record(folder.path() / "none" / "a.jsonl", sample_record()),
               std::runtime_error);
}

}  // namespace
}  // namespace fovea
