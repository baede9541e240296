// tune_command_test.cpp: real kernels, small ones, through `fovea tune` and what it is made of.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "generators/database/database_views.h"
#include "generators/schedules/decode_cpu.h"
#include "generators/schedules/prefill_cpu.h"
#include "generators/tuner/kernel_trials.h"
#include "program_run.h"
#include "sample_record.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One cache for all tests, so that the runtime is compiled once.
const std::filesystem::path& cache() {
  static const ScratchFolder folder;
  return folder.path();
}

std::vector<std::string> words(const std::filesystem::path& out, std::vector<std::string> more) {
  std::vector<std::string> all = {
      "tune",      "--cache", cache().string(),  "--out",     out.string(),
      "--variant", "full",    "--target",        "x86-sse41", "--head-dim",
      "8",         "--shape", "hq=2,sq=5,skv=7", "--starts",  "2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<TuningRecord> records_of(const std::filesystem::path& file) {
  std::vector<TuningRecord> all;
  for (const StoredRecord& s : read_tuning_file(file).records) all.push_back(s.record);
  return all;
}

TEST(TuneCommand, WritesEveryCandidateAndAWinnerThatEmitTakes) {
  const ScratchFolder folder;
  const std::filesystem::path out = folder.path() / "mine.jsonl";
  const ProgramRun run = run_fovea(words(out, {"--candidates", "4"}));
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_THAT(run.output, HasSubstr("[4/"));
  EXPECT_THAT(run.output, HasSubstr(" x the default: "));
  const std::vector<TuningRecord> all = records_of(out);
  ASSERT_GE(all.size(), 5u);
  for (const TuningRecord& r : all) {
    EXPECT_EQ(r.kernel, "fovea_prefill__full__f32__d8__x86_sse41");
    EXPECT_EQ(r.workload.shapes, std::vector<std::string>{"b=1,hq=2,hkv=2,sq=5,skv=7,d=8"});
    EXPECT_TRUE(r.status == TrialStatus::Ok || r.status == TrialStatus::Slower) << r.reason;
    ASSERT_EQ(r.timings.size(), 1u);
    EXPECT_EQ(r.timings[0].seconds.size(), r.timings[0].incumbent_seconds.size());
    EXPECT_GE(r.timings[0].seconds.size(), 3u);
    EXPECT_GT(r.error_bound, 0);
    EXPECT_LE(r.max_abs_error, r.error_bound);
    EXPECT_FALSE(r.environment.cpu_model.empty());
    EXPECT_THAT(r.environment.features, HasSubstr("sse41"));
  }
  EXPECT_EQ(all.back().effort, Effort::Final);

  const ProgramRun emit = run_fovea({"emit", "--library", "small", "--variant", "full", "--target",
                                     "x86-sse41", "--head-dim", "8", "--pass", "prefill", "--tuned",
                                     out.string(), "--out", (folder.path() / "lib").string()});
  ASSERT_EQ(emit.how, "exit status 0") << emit.output;
  EXPECT_THAT(emit.output, HasSubstr(": mine.jsonl:" + std::to_string(all.size()) + ", "));
}

// Starts a search for five candidates, sends it the signal once two are lines, and returns how it
// ended; `before` receives the lines that are there then.
int end_by_signal(const std::filesystem::path& out, int signal_number,
                  std::vector<TuningRecord>& before) {
  std::vector<std::string> command = words(out, {"--candidates", "5"});
  command.insert(command.begin(), FOVEA_TEST_PROGRAM);
  const pid_t pid = fork();
  if (pid == 0) {
    // What runs the tests may ignore interruptions, and children inherit that.
    signal(SIGINT, SIG_DFL);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  if (pid < 0) return -1;
  for (int looks = 0; looks < 6000; ++looks) {
    if (std::filesystem::exists(out) && records_of(out).size() >= 2) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  kill(pid, signal_number);
  int status = 0;
  waitpid(pid, &status, 0);
  before = records_of(out);
  return status;
}

// The same command goes on: what is in the file is not tried again.
void expect_it_goes_on(const std::filesystem::path& out, const std::vector<TuningRecord>& before) {
  ASSERT_GE(before.size(), 2u);
  const ProgramRun run = run_fovea(words(out, {"--candidates", "5", "--json"}));
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const std::vector<TuningRecord> after = records_of(out);
  ASSERT_GE(after.size(), 6u);
  size_t searched = 0;
  for (const TuningRecord& r : after) searched += r.effort == Effort::Final ? 0 : 1;
  EXPECT_EQ(searched, 5u);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i]);
  EXPECT_THAT(run.output, HasSubstr("\"effort\": \"final\""));
}

TEST(TuneCommand, GoesOnWhereItWasKilled) {
  const ScratchFolder folder;
  const std::filesystem::path out = folder.path() / "mine.jsonl";
  std::vector<TuningRecord> before;
  end_by_signal(out, SIGKILL, before);
  expect_it_goes_on(out, before);
}

TEST(TuneCommand, GoesOnWhereItWasInterrupted) {
  const ScratchFolder folder;
  const std::filesystem::path out = folder.path() / "mine.jsonl";
  std::vector<TuningRecord> before;
  const int status = end_by_signal(out, SIGINT, before);
  // As a shell expects it of a program that was interrupted: it ends by the signal.
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(read_tuning_file(out).problems, std::vector<std::string>());
  // Nothing is a winner that was not timed for it.
  for (const TuningRecord& r : before) EXPECT_NE(r.effort, Effort::Final);
  expect_it_goes_on(out, before);
}

TEST(TuneCommand, TimesEntriesAgain) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "mine.jsonl";
  ASSERT_EQ(run_fovea(words(file, {"--candidates", "2"})).how, "exit status 0");
  std::vector<TuningRecord> entries = exported(records_of(file));
  ASSERT_EQ(entries.size(), 1u);
  entries[0].schedule = PrefillCpuSchedule().with(entries[0].incumbent).with("key_block=64").text();
  entries[0].speedup = 1.5;
  write_tuning_file(file, entries);
  const ProgramRun again =
      run_fovea({"tune", "--again", file.string(), "--cache", cache().string()});
  ASSERT_EQ(again.how, "exit status 0") << again.output;
  EXPECT_THAT(again.output, HasSubstr("| kernel | shape | default, ms | tuned, ms | factor |"));
  EXPECT_THAT(again.output, HasSubstr("| key_block=64 |"));
  EXPECT_THAT(again.output, HasSubstr("\n1 shapes: geometric mean "));
}

TEST(TuneCommand, ComparesWhatALibraryWouldHoldWithTheDefaults) {
  // Decode calls of these sizes take little time.
  const KernelSpec spec = {"decode", "full", "f32", 8, 8, "x86-sse41"};
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "mine.jsonl";
  ASSERT_EQ(run_fovea({"tune", "--variant", "full", "--target", "x86-sse41", "--head-dim", "8",
                       "--pass", "decode", "--shape", "hq=2,sq=1,skv=70", "--candidates", "1",
                       "--cache", cache().string(), "--out", file.string()})
                .how,
            "exit status 0");
  std::vector<TuningRecord> entries = exported(records_of(file));
  ASSERT_EQ(entries.size(), 1u);
  // One for calls over at most 300 keys, beside the default.
  TuningRecord& r = entries[0];
  ASSERT_EQ(r.kernel, kernel_name(spec));
  r.workload = {"short", {"b=1,hq=8,hkv=8,sq=1,skv=300,d=8"}, "", 1};
  r.schedule = DecodeCpuSchedule().with(r.incumbent).with("key_block=64").text();
  r.speedup = 1.5;
  write_tuning_file(file, entries);
  const ProgramRun run =
      run_fovea({"tune", "--compare", file.string(), "--cache", cache().string()});
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_THAT(run.output, ::testing::ContainsRegex(
                              "short . b=1,hq=8,hkv=8,sq=1,skv=300,d=8 . [0-9.e-]+ . [0-9.e-]+ . "
                              "[0-9.]+ . key_block=64 "));
  EXPECT_THAT(run.output,
              HasSubstr("| long | b=1,hq=8,hkv=8,sq=1,skv=16384,d=8 | – | – | 1 | the default |"));
  EXPECT_THAT(run.output, HasSubstr("\n4 shapes: geometric mean "));
  EXPECT_THAT(run.output, HasSubstr("\nshort, 2 shapes: geometric mean "));
  EXPECT_THAT(run.output, HasSubstr("\nlong, 2 shapes: geometric mean 1.000, least 1.000"));
}

TEST(TuneCommand, JudgesKernelsThatDoNotRunHereByTheirLoops) {
  const ScratchFolder folder;
  const std::filesystem::path out = folder.path() / "arm.jsonl";
  const ProgramRun run = run_fovea(
      {"tune", "--cost", "static", "--variant", "full", "--target", "arm64-neon", "--head-dim", "8",
       "--starts", "2", "--candidates", "3", "--cache", cache().string(), "--out", out.string()});
  if (run.output.find("apt") != std::string::npos) GTEST_SKIP() << run.output;
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const std::vector<TuningRecord> all = records_of(out);
  ASSERT_GE(all.size(), 4u);
  for (const TuningRecord& r : all) {
    EXPECT_EQ(r.kernel, "fovea_prefill__full__f32__d8__arm64_neon");
    EXPECT_EQ(r.judged_by, "llvm-mca: cortex-a76, neoverse-n1, neoverse-v1, apple-m1");
    EXPECT_TRUE(r.timings.empty());
    EXPECT_EQ(r.environment.cpu, "");
    EXPECT_TRUE(r.status == TrialStatus::Ok || r.status == TrialStatus::Slower) << r.reason;
  }
  EXPECT_EQ(all.back().effort, Effort::Final);
  const ProgramRun emit =
      run_fovea({"emit", "--library", "small", "--variant", "full", "--target", "arm64-neon",
                 "--head-dim", "8", "--pass", "prefill", "--tuned", out.string(), "--out",
                 (folder.path() / "lib").string()});
  EXPECT_THAT(emit.output, HasSubstr(": arm.jsonl:" + std::to_string(all.size()) +
                                     ", llvm-mca: cortex-a76, neoverse-n1"));
}

TEST(TuneCommand, SaysWhatIsNotAllowed) {
  const ScratchFolder folder;
  const std::filesystem::path out = folder.path() / "mine.jsonl";
  for (const auto& [more, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--budget", "5d"}, "allowed is a time such as"},
           {{"--strategy", "annealing"}, "annealing"},
           {{"--kv-cache", "int9"}, "int9"},
           {{"--set", "cap=3"}, "cap"}}) {
    const ProgramRun run = run_fovea(words(out, more));
    EXPECT_NE(run.how, "exit status 0") << more[0];
    EXPECT_THAT(run.output, HasSubstr(said));
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

TEST(TuneCommand, PrintsTheSpaceWithReasons) {
  const ProgramRun run =
      run_fovea({"tune", "--variant", "causal", "--target", "x86-avx2", "--space"});
  EXPECT_EQ(run.how, "exit status 0");
  EXPECT_THAT(run.output, HasSubstr("key_tile        2 3 4 6 8 12 (default 4): "));
  EXPECT_THAT(run.output, HasSubstr("fit the registers"));
}

TEST(DatabaseCommand, ListsMergesExportsComparesAndPrunes) {
  const ScratchFolder folder;
  const std::filesystem::path a = folder.path() / "a.jsonl", b = folder.path() / "b.jsonl",
                              all = folder.path() / "all.jsonl";
  TuningRecord failed = sample_record("key_tile=1", 0), other = sample_record("key_tile=2", 1.3);
  failed.status = TrialStatus::Crash, failed.reason = "signal 11";
  other.kernel = "fovea_prefill__plain__f32__d128__x86_avx2";
  for (const TuningRecord& r : {sample_record("key_tile=2", 1.1), failed}) append_record(a, r);
  for (const TuningRecord& r : {sample_record("key_tile=8", 1.2), other}) append_record(b, r);
  std::ofstream(b, std::ios::app) << "nonsense\n";

  ProgramRun run = run_fovea({"database", "list", a.string(), b.string()});
  EXPECT_EQ(run.how, "exit status 0");
  EXPECT_THAT(run.output,
              HasSubstr("a.jsonl:1: fovea_prefill__plain__f32__d64__x86_avx2, any, 1.100 x"));
  EXPECT_THAT(run.output, Not(HasSubstr("signal 11")));
  EXPECT_THAT(run.output, HasSubstr("b.jsonl:3: skipped: "));
  run = run_fovea({"database", "list", "--all", a.string()});
  EXPECT_THAT(run.output, HasSubstr("crash: signal 11"));

  run = run_fovea({"database", "merge", all.string(), a.string(), b.string()});
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_EQ(records_of(all).size(), 4u);
  run_fovea({"database", "merge", all.string(), a.string()});
  EXPECT_EQ(records_of(all).size(), 4u) << "merging twice adds nothing";

  run = run_fovea({"database", "diff", a.string(), b.string()});
  EXPECT_THAT(run.output, HasSubstr("- 1.100 x  "));
  EXPECT_THAT(run.output, HasSubstr("+ 1.200 x  "));
  EXPECT_THAT(run.output, HasSubstr("+ 1.300 x  "));
  EXPECT_EQ(run_fovea({"database", "diff", a.string(), a.string()}).output, "");

  const std::filesystem::path shipped = folder.path() / "shipped.jsonl";
  run = run_fovea({"database", "export", shipped.string(), all.string()});
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  const std::vector<TuningRecord> kept = records_of(shipped);
  ASSERT_EQ(kept.size(), 2u);
  for (const TuningRecord& r : kept) EXPECT_EQ(r.timings[0].seconds, std::vector<double>{0.5});

  run = run_fovea({"database", "prune", all.string()});
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_EQ(records_of(all).size(), 2u);
  EXPECT_NE(run_fovea({"database", "list", "none.jsonl"}).how, "exit status 0");
}

TEST(DatabaseViews, ASearchWithoutAWinnerIsNotPruned) {
  TuningRecord tried = sample_record(), decided = sample_record(), screened = sample_record();
  tried.effort = screened.effort = Effort::Compare;
  tried.workload.name = "long";
  EXPECT_EQ(pruned({tried, decided, screened}).size(), 2u);
}

// The trials of one search; the compiler is one whose links go wrong when asked to.
class RealTrials : public ::testing::Test {
 protected:
  RealTrials() : variants_{Variant("full")} {
    TrialOptions options;
    options.build = bench::default_build_options(FOVEA_TEST_COMPILER, "");
    options.build.cache = cache() / "faulty";
    options.build.jobs = 2;
    options.build.limits = {60, 0};
    options.choice = {spec_.target, spec_.pass, 1, {}};
    options.limits = {2, size_t{1} << 30};
    options.build.self = FOVEA_TEST_PROGRAM;
    ExampleShape shape;
    shape.heads = shape.kv_heads = 2, shape.q_len = 5, shape.kv_len = 7;
    shape.d_qk = shape.d_v = 8;
    trials_ = std::make_unique<KernelTrials>(spec_, variants_, std::vector{shape},
                                             bench::Settings{}, options);
    usual_ = default_prefill_schedule(*find_target(spec_.target), variants_[0], Element::F32, 8, 8);
    trials_->build({usual_.text()});
  }
  ~RealTrials() override { unsetenv("FOVEA_TEST_LINK"); }

  // A candidate whose link does this.
  TrialOutcome candidate(const std::string& link, const std::string& schedule) {
    setenv("FOVEA_TEST_LINK", link.c_str(), 1);
    const TrialOutcome outcome =
        trials_->time(usual_.with(schedule).text(), usual_.text(), Effort::Screen);
    unsetenv("FOVEA_TEST_LINK");
    trials_->forget(usual_.with(schedule).text());
    return outcome;
  }
  static std::string library(const char* fault) {
    return std::string(FOVEA_TEST_FAULTY_DIR) + "/fovea_faulty_" + fault + ".so";
  }

  KernelSpec spec_{"prefill", "full", "f32", 8, 8, "x86-sse41"};
  std::vector<Variant> variants_;
  PrefillCpuSchedule usual_;
  std::unique_ptr<KernelTrials> trials_;
};

TEST_F(RealTrials, EveryFaultIsToldAndTheSearchGoesOn) {
  EXPECT_EQ(candidate(library("wrong"), "key_tile=2").status, TrialStatus::Wrong);
  EXPECT_EQ(candidate(library("silent"), "key_tile=1").status, TrialStatus::Wrong);
  EXPECT_EQ(candidate(library("crash"), "key_unroll=2").status, TrialStatus::Crash);
  EXPECT_EQ(candidate(library("hang"), "key_unroll=1").status, TrialStatus::Timeout);
  const TrialOutcome fails = candidate("fail", "key_block=64");
  EXPECT_EQ(fails.status, TrialStatus::Compile);
  EXPECT_THAT(fails.reason, HasSubstr("on purpose"));
  EXPECT_EQ(candidate("", "key_block=3").status, TrialStatus::Compile) << "not allowed";
  const TrialOutcome good = candidate("", "key_block=32");
  EXPECT_TRUE(good.status == TrialStatus::Ok || good.status == TrialStatus::Slower) << good.reason;
  EXPECT_GT(good.ratio, 0);
  EXPECT_LE(good.max_abs_error, good.error_bound);
}

}  // namespace
}  // namespace fovea
