// command_line_test.cpp: what all commands have in common. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Halide.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generators/tool/command_line.h"
#include "output_of.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::vector<std::string> commands = {"list",    "show",    "catalogue", "emit",
                                           "explain", "inspect", "bench",     "report",
                                           "doctor",  "new",     "completion"};

TEST(CommandLine, EveryCommandHasHelpWithAnExample) {
  const std::string overview = stdout_of({"--help"});
  for (const std::string& command : commands) {
    EXPECT_THAT(overview, HasSubstr("\n  " + command + " "));
    const std::string help = stdout_of({command, "--help"});
    EXPECT_THAT(help, HasSubstr("example: "));
    if (command != "completion") {
      EXPECT_THAT(help, HasSubstr("--json")) << command;
    }
  }
}

// https://github.com/halide/Halide/blob/v21.0.0/src/Error.h: its errors are no std::exception.
TEST(CommandLine, ErrorsOfHalideAreTold) {
  CLI::App app{"test"};
  app.callback([] { throw Halide::InternalError("a place and a reason"); });
  const char* const words[] = {"test"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_command_line(app, 1, words), exit_failed_work);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "fovea: Halide: a place and a reason\n");
}

TEST(CommandLine, TheSameFlagsEverywhere) {
  for (const char* command : {"explain", "inspect", "bench"}) {
    const std::string help = stdout_of({command, "--help"});
    for (const char* flag : {"--variant", "--pass", "--dtype", "--shape", "--target", "--json"})
      EXPECT_THAT(help, HasSubstr(flag)) << command;
  }
  EXPECT_THAT(stdout_of({"bench", "--help"}), HasSubstr("--threads"));
}

TEST(CommandLine, UnknownWordsAreAnsweredWithTheNearest) {
  const auto complaint = [](const std::vector<std::string>& arguments) {
    const ProgramRun run = run_without("2>&1 >/dev/null", arguments);
    EXPECT_EQ(run.how, "exit status 2") << run.output;
    return run.output;
  };
  EXPECT_THAT(complaint({"lst"}), HasSubstr("'lst' is no command; did you mean 'list'?"));
  EXPECT_THAT(complaint({"xyzzy"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(complaint({"--vrsion"}), HasSubstr("did you mean '--version'?"));
  EXPECT_THAT(complaint({"show", "--tarqet", "x86-avx2"}),
              HasSubstr("'--tarqet' is no option of show; did you mean '--target'?"));
  // Also where another option is missing.
  EXPECT_THAT(complaint({"emit", "--libary=small"}), HasSubstr("did you mean '--library'?"));
  EXPECT_THAT(complaint({"bench", "--variant", "casual"}), HasSubstr("did you mean 'causal'?"));
  EXPECT_THAT(complaint({"bench", "--target", "x86-avx3"}), HasSubstr("did you mean 'x86-avx2'?"));
  EXPECT_THAT(complaint({"list", "--variant", "casual"}), HasSubstr("did you mean 'causal'?"));
  EXPECT_THAT(complaint({"inspect", "--variant", "full", "--target", "x86-avx3"}),
              HasSubstr("did you mean 'x86-avx2'?"));
  EXPECT_THAT(complaint({"report"}), HasSubstr("report draws what was measured"));
}

TEST(CommandLine, JsonIsAllThatStdoutHolds) {
  const ScratchFolder folder;
  const std::string out = folder.path().string();
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"list", "--json", "--variant", "full,causal"},
           {"show", "causal", "--json"},
           {"catalogue", "--out", out + "/docs", "--json"},
           {"emit", "--library", "small", "--variant", "full", "--target", "x86-sse41",
            "--head-dim", "8", "--pass", "prefill", "--out", out + "/emitted", "--json"},
           {"inspect", out + "/emitted", "--json"},
           {"explain", "causal", "--json", "--cpu", "haswell"},
           {"new", "my_variant", "--out", out + "/new", "--json"}}) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const std::string text = stdout_of(arguments);
    EXPECT_TRUE(Json::accept(text)) << text.substr(0, 200);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  }
  EXPECT_EQ(Json::parse(read_file(folder.path() / "emitted/small.json")).at("library"), "small");
}

TEST(CommandLine, ListsCanBeNarrowed) {
  const Json root = Json::parse(stdout_of({"list", "--json", "--variant", "causal", "--pass",
                                           "decode", "--target", "x86-avx2", "--head-dim", "64"}));
  ASSERT_EQ(root.at("kernels").size(), 1u);
  EXPECT_EQ(root.at("kernels")[0].at("name"), "fovea_decode__causal__f32__d64__x86_avx2");
  ASSERT_EQ(root.at("variants").size(), 1u);
  EXPECT_GT(root.at("targets").size(), 1u);
}

TEST(CommandLine, CommasAndSpacesSeparateValues) {
  const std::string commas = stdout_of({"list", "--json", "--variant", "full,causal"});
  EXPECT_EQ(commas, stdout_of({"list", "--variant", "full", "causal", "--json"}));
}

}  // namespace
}  // namespace fovea
