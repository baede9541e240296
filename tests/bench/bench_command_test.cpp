// bench_command_test.cpp: `fovea bench` as a user runs it, on a problem of a few rows.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program_run.h"

namespace fovea {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

// One cache for all tests, so that the runtime and each kernel are compiled once.
const std::filesystem::path& cache() {
  static const ScratchFolder folder;
  return folder.path();
}

std::vector<std::string> words(std::vector<std::string> more) {
  std::vector<std::string> all = {"bench",
                                  "--cache",
                                  cache().string(),
                                  "--target",
                                  "x86-sse41",
                                  "--shape",
                                  "hq=2,hkv=1,sq=5,skv=7,d=8",
                                  "--rounds",
                                  "3",
                                  "--min-time",
                                  "0"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<std::string> with_fakes(const std::string& names, std::vector<std::string> more) {
  more.insert(more.end(), {"--peers", names, "--peer-python", FOVEA_TEST_PYTHON, "--peer-workers",
                           FOVEA_TEST_WORKERS});
  return words(more);
}

// The object that --json prints, which begins after the lines of progress.
Json json_of(const ProgramRun& run) {
  const size_t begin = run.output.find("\n{\n");
  if (run.output.starts_with("{\n")) return Json::parse(run.output);
  if (begin == std::string::npos) {
    ADD_FAILURE() << run.output;
    return {};
  }
  const size_t end = run.output.find("\n}\n", begin);
  return Json::parse(run.output.substr(begin, end + 3 - begin));
}

Json row_of(const Json& report, const std::string& engine, const std::string& variant = "full") {
  for (const Json& row : report["rows"]) {
    if (row["engine"] == engine && row["variant"] == variant) return row;
  }
  ADD_FAILURE() << "no row of " << engine;
  return {};
}

TEST(BenchCommand, RowsCarryWhatTheyWereMeasuredWith) {
  const ProgramRun run = run_fovea(
      words({"--peers", "none", "--variant", "full,causal", "--threads", "1,2", "--json"}));
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const Json report = json_of(run);
  ASSERT_EQ(report["rows"].size(), 4u);
  for (const Json& row : report["rows"]) {
    for (const char* field :
         {"variant", "pass", "dtype", "shape", "target", "schedule", "threads", "median_s", "mad_s",
          "n", "gflops", "gbps", "stream_gbps", "peak_gflops", "fraction_of_peak", "max_abs_error",
          "error_bound", "command", "version"}) {
      EXPECT_TRUE(row.contains(field)) << field;
    }
    EXPECT_EQ(row["engine"], "fovea");
    EXPECT_EQ(row["target"], "x86-sse41");
    EXPECT_EQ(row["n"], 3);
    EXPECT_GT(row["median_s"], 0);
    EXPECT_GT(row["peak_gflops"], 0);
    EXPECT_LE(row["max_abs_error"], row["error_bound"]);
    EXPECT_EQ(row["caches"], "warm");
  }
  // Causal, five queries and seven keys, two heads: 3 + 4 + 5 + 6 + 7 pairs of 2 * (8 + 8)
  // operations.
  const Json causal = row_of(report, "fovea", "causal");
  EXPECT_NEAR(causal["gflops"].get<double>() * causal["median_s"].get<double>() * 1e9,
              2 * 25 * 32.0, 1e-6);
  EXPECT_EQ(causal["command"],
            "fovea bench --variant causal --dtype f32 --shape b=1,hq=2,hkv=1,sq=5,skv=7,d=8 "
            "--threads 1 --target x86-sse41 --peers none");
}

// The second run finds what the first one made.
TEST(BenchCommand, DecodeIsMeasuredBesideAPlainRead) {
  const std::vector<std::string> decode = {"--pass", "decode",    "--peers",
                                           "none",   "--variant", "causal"};
  std::vector<std::string> json = decode;
  json.emplace_back("--json");
  const ProgramRun run = run_fovea(words(json));
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const Json row = row_of(json_of(run), "fovea", "causal");
  EXPECT_EQ(row["pass"], "decode");
  EXPECT_TRUE(row["within_bound"]);
  EXPECT_GT(row["gbps"], 0.0);
  EXPECT_GT(row["stream_gbps"], 0.0);
  EXPECT_THAT(row["schedule"].get<std::string>(), HasSubstr("wide_rows=4"));
  EXPECT_THAT(row["command"].get<std::string>(), HasSubstr("--pass decode"));
  const ProgramRun text = run_fovea(words(decode));
  EXPECT_THAT(text.output, AllOf(HasSubstr("of stream"), HasSubstr("GB/s")));
  const ProgramRun refused = run_fovea(words({"--pass", "encode"}));
  EXPECT_NE(refused.how, "exit status 0");
  EXPECT_THAT(refused.output, AllOf(HasSubstr("--pass"), HasSubstr("decode")));
}

TEST(BenchCommand, KernelsAreKept) {
  const auto arguments = words({"--peers", "none", "--variant", "full"});
  ASSERT_EQ(run_fovea(arguments).how, "exit status 0");
  const FileTimes before = file_times(cache());
  const ProgramRun again = run_fovea(arguments);
  EXPECT_EQ(again.how, "exit status 0") << again.output;
  EXPECT_THAT(again.output, Not(HasSubstr("] kernel ")));
  FileTimes after = file_times(cache());
  // Logs are written anew.
  const auto is_library = [](const auto& file) { return file.first.ends_with(".so"); };
  ASSERT_TRUE(std::any_of(after.begin(), after.end(), is_library));
  for (const auto& [name, time] : after) {
    if (!name.ends_with(".so") && !name.ends_with(".o")) continue;
    EXPECT_EQ(before.at(name), time) << name;
  }
}

TEST(BenchCommand, ColdCachesAndSettings) {
  const ProgramRun run = run_fovea(words({"--peers", "none", "--variant", "causal_window", "--set",
                                          "window=2", "--cold", "--threads", "1", "--json"}));
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const Json row = row_of(json_of(run), "fovea", "causal_window");
  EXPECT_EQ(row["caches"], "cold");
  EXPECT_EQ(row["settings"], "window=2");
  EXPECT_NEAR(row["gflops"].get<double>() * row["median_s"].get<double>() * 1e9, 2 * 10 * 32.0,
              1e-6);
  EXPECT_THAT(row["command"], AllOf(HasSubstr("--set window=2"), HasSubstr("--cold")));
}

TEST(BenchCommand, SchedulesSideBySide) {
  const ProgramRun run =
      run_fovea(words({"--peers", "none", "--variant", "full", "--schedule", "default",
                       "row_vectors=2,key_block=32", "key_tile=7", "--threads", "1", "--json"}));
  // The third does not fit: its row says why, and the command fails.
  EXPECT_EQ(run.how, "exit status 1") << run.output;
  const Json rows = json_of(run)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[1]["schedule"], AllOf(HasSubstr("row_vectors=2"), HasSubstr("key_block=32")));
  EXPECT_NE(rows[0]["schedule"], rows[1]["schedule"]);
  EXPECT_THAT(rows[2]["cannot"], HasSubstr("a multiple of key_tile = 7"));
}

TEST(BenchCommand, PeersTakeTurns) {
  const ScratchFolder folder;
  const std::filesystem::path order = folder.path() / "order";
  setenv("FAKE_PEER_ORDER", order.c_str(), 1);
  const ProgramRun run = run_fovea(
      with_fakes("honest,second", {"--variant", "full", "--threads", "1", "--cold", "--json"}));
  unsetenv("FAKE_PEER_ORDER");
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const Json report = json_of(run), row = row_of(report, "honest");
  EXPECT_EQ(row["version"], "fake 1.0");
  EXPECT_EQ(row["notes"], "1 threads");
  EXPECT_EQ(row["prepare_s"], 0.25);
  EXPECT_EQ(row["n"], 3);
  EXPECT_LE(row["max_abs_error"], row["error_bound"]);
  EXPECT_THAT(row["command"], HasSubstr("--peers honest"));
  EXPECT_TRUE(row_of(report, "fovea").contains("ratio_to_best_peer"));
  // Before the rounds one call for the result and two for its length, of each; then a call of each
  // in every round (caches are cold: nothing warms up), and another one begins each time.
  EXPECT_EQ(read_file(order),
            "honest\nhonest\nhonest\nsecond\nsecond\nsecond\n"
            "honest\nsecond\nhonest\nsecond\nsecond\nhonest\n");
}

TEST(BenchCommand, PeersThatFailAreLines) {
  const ProgramRun run = run_fovea(with_fakes(
      "all", {"--variant", "full,causal", "--threads", "1", "--peer-timeout", "5", "--json"}));
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const Json report = json_of(run);
  EXPECT_EQ(row_of(report, "cannot")["cannot"], "only works on Sundays");
  EXPECT_THAT(row_of(report, "missing")["cannot"], HasSubstr("not installed: No module named"));
  EXPECT_THAT(row_of(report, "missing", "causal")["cannot"], HasSubstr("not installed"));
  EXPECT_THAT(row_of(report, "wrong")["cannot"], HasSubstr("wrong: its error is 5"));
  EXPECT_THAT(row_of(report, "crash")["cannot"],
              AllOf(HasSubstr("signal 11"), HasSubstr("out of luck")));
  EXPECT_THAT(row_of(report, "hang")["cannot"], HasSubstr("no answer within 5 s"));
  EXPECT_THAT(row_of(report, "garbage")["cannot"], HasSubstr("answered 'hello'"));
  EXPECT_TRUE(row_of(report, "throw").contains("median_s"));
  EXPECT_EQ(row_of(report, "throw", "causal")["cannot"], "ValueError: no causal today");
  // Others are measured all the same, also in the case that follows.
  for (const char* variant : {"full", "causal"}) {
    EXPECT_TRUE(row_of(report, "honest", variant).contains("median_s"));
    EXPECT_TRUE(row_of(report, "fovea", variant).contains("median_s"));
  }
}

TEST(BenchCommand, PeersThatAreNotInstalledAreALine) {
  const ProgramRun run =
      run_fovea(words({"--variant", "full", "--threads", "1", "--peer-python", "/no/such/python",
                       "--peer-workers", FOVEA_TEST_WORKERS, "--peers", "honest"}));
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_THAT(run.output, HasSubstr("peer honest: not installed"));
}

TEST(BenchCommand, ThePlainLoop) {
  const ProgramRun run = run_fovea(
      words({"--peers", "plain", "--variant", "full,causal", "--threads", "1", "--markdown"}));
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_THAT(run.output,
              HasSubstr("| variant | type | shape | threads | fovea | of peak | plain |"));
  EXPECT_THAT(run.output, HasSubstr("| causal | f32 | b=1,hq=2,hkv=1,sq=5,skv=7,d=8 | 1 |"));
}

// https://github.com/ggml-org/llama.cpp/issues/23044: a build that computes nonsense, for caches of
// few bits too, had good-looking benchmarks. FOVEA_TEST_RUNTIME is the runtime's source folder; of
// a copy, every call has another scale.
TEST(Bank, Row164WrongValuesAreNotTimed) {
  const ScratchFolder folder;
  const std::filesystem::path runtime = folder.path() / "runtime";
  std::filesystem::copy(FOVEA_TEST_RUNTIME, runtime, std::filesystem::copy_options::recursive);
  const std::filesystem::path file = runtime / "src/check_call.cpp";
  std::string text = read_file(file);
  const std::string scale = "1.0 / sqrt(features)";
  ASSERT_NE(text.find(scale), std::string::npos);
  text.replace(text.find(scale), scale.size(), "40.0 / sqrt(features)");
  write_if_changed(file, text);
  std::vector<std::string> arguments =
      words({"--pass", "decode", "--variant", "full", "--peers", "none", "--runtime",
             runtime.string(), "--kv-cache", "none,int8", "--threads", "1", "--json"});
  arguments[2] = (folder.path() / "cache").string();
  arguments[6] = "hq=2,hkv=1,sq=1,skv=70,d=16";
  const ProgramRun run = run_fovea(arguments);
  EXPECT_EQ(run.how, "exit status 1") << run.output;
  const Json rows = json_of(run)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows) {
    EXPECT_THAT(row["cannot"], HasSubstr("wrong: its error is ")) << row["kv_cache"];
    EXPECT_FALSE(row.contains("median_s"));
  }
  EXPECT_THAT(run.output, HasSubstr("not every kernel could be measured"));
}

TEST(BenchCommand, Refusals) {
  const auto refusal = [](std::vector<std::string> more, const char* how = "exit status 2") {
    more.insert(more.begin(), "bench");
    const ProgramRun run = run_fovea(more);
    EXPECT_EQ(run.how, how) << run.output;
    return run.output;
  };
  EXPECT_THAT(refusal({"--variant", "casual"}),
              HasSubstr("--variant 'casual': allowed is all, or"));
  EXPECT_THAT(refusal({"--shape", "sq=none"}), HasSubstr("--shape 'sq=none': 'none' is not"));
  EXPECT_THAT(refusal({"--dtype", "f64"}), HasSubstr("--dtype 'f64': allowed is f32, f16, bf16"));
  EXPECT_THAT(refusal({"--target", "x86-avx3"}), HasSubstr("--target 'x86-avx3': allowed is"));
  EXPECT_THAT(refusal({"--threads", "0"}), HasSubstr("--threads '0': '0' is not a number"));
  EXPECT_THAT(refusal({"--set", "window=3"}),
              HasSubstr("no chosen variant has a parameter 'window'"));
  EXPECT_THAT(refusal({"--peers", "tensorflow"}),
              HasSubstr("--peers 'tensorflow': allowed is all"));
  EXPECT_THAT(refusal({"--runtime", "nowhere"}, "exit status 1"),
              HasSubstr("the sources of the runtime are not in"));
}

}  // namespace
}  // namespace fovea
