// emit_test.cpp: the fovea command from end to end: what is made, what is kept, what is refused,
// what is left of a failure. SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "emission.h"

extern char** environ;

namespace fovea {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Runs the request again and returns the kernels that were compiled.
std::vector<std::string> recompiled(const std::vector<std::string>& more = {}) {
  const SmallLibrary& library = emitted_library();
  const FileTimes before = file_times(library.out() / "kernels");
  const ProgramRun run = run_fovea(library.arguments(more));
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  std::vector<std::string> changed;
  for (const auto& [file, time] : file_times(library.out() / "kernels")) {
    const auto old = before.find(file);
    if (file.ends_with(".o") && (old == before.end() || old->second != time))
      changed.push_back(file.substr(0, file.size() - 2));
  }
  return changed;
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(Emit, WritesTheLibrary) {
  std::vector<std::string> files;
  for (const auto& [file, time] : file_times(emitted_library().out())) files.push_back(file);
  std::vector<std::string> expected = {"include/small.h", "include/small.hpp"};
  for (const char* variant : SmallLibrary::variants) {
    for (const char* extension : {".json", ".log", ".o", ".stmt"})
      expected.push_back("kernels/" + SmallLibrary::kernel(variant) + extension);
  }
  for (const char* file :
       {"small.json", "small_kernels.o", "small_registry.cpp", "visible_symbols.txt"})
    expected.push_back(file);
  EXPECT_EQ(files, expected);
  const Json manifest = Json::parse(read_file(emitted_library().out() / "small.json"));
  EXPECT_EQ(manifest.at("kernels").size(), std::size(SmallLibrary::variants));
}

TEST(Emit, AnUnchangedRequestTouchesNothing) {
  const FileTimes before = file_times(emitted_library().out());
  const ProgramRun run = run_fovea(emitted_library().arguments());
  EXPECT_EQ(run.how, "exit status 0");
  EXPECT_EQ(run.output, "");
  EXPECT_EQ(file_times(emitted_library().out()), before);
}

TEST(Emit, KernelsDoNotDependOnTheFolderOrTheirNeighbours) {
  const ScratchFolder other;
  const ProgramRun run =
      run_fovea({"emit", "--library", "small", "--pass", "prefill", "--variant", "causal",
                 "--target", "x86-avx2", "--head-dim", "16", "--out", other.path().string()});
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_TRUE(read_file(other.path() / "kernels" / (SmallLibrary::kernel("causal") + ".o")) ==
              read_file(emitted_library().kernel_file("causal", ".o")));
}

// Each round spoils the records of all kernels in another way.
TEST(Emit, ARecordThatDoesNotReadIsNoRecord) {
  const std::string good = read_file(emitted_library().kernel_file("full", ".json"));
  Json without_rows = Json::parse(good), of_other_type = without_rows,
       of_other_kernel = without_rows;
  without_rows.erase("block_rows");
  of_other_type["scratch_bytes"] = "many";
  of_other_kernel["identity"] = "0123456789abcdef";
  const std::vector<std::vector<std::string>> rounds = {
      {"", "[1]", without_rows.dump()},
      {of_other_type.dump(), of_other_kernel.dump(), good.substr(0, 40)}};
  for (const std::vector<std::string>& texts : rounds) {
    for (size_t i = 0; i < texts.size(); ++i)
      write_file(emitted_library().kernel_file(SmallLibrary::variants[i], ".json"), texts[i]);
    EXPECT_EQ(recompiled().size(), 3u);
    EXPECT_EQ(read_file(emitted_library().kernel_file("full", ".json")), good);
  }
}

TEST(Emit, MissingFilesAreMadeAgain) {
  const SmallLibrary& library = emitted_library();
  const std::vector<fs::path> missing = {library.kernel_file("causal", ".o"),
                                         library.kernel_file("full", ".stmt")};
  for (const fs::path& path : missing) fs::remove(path);
  EXPECT_EQ(recompiled(), (std::vector<std::string>{SmallLibrary::kernel("causal"),
                                                    SmallLibrary::kernel("full")}));
  for (const fs::path& path : missing) EXPECT_TRUE(fs::exists(path)) << path;

  // Without their record, objects are of unknown origin; with it, everything else is made from
  // them.
  std::map<std::string, std::string> texts;
  for (const char* file :
       {"small_kernels.o", "small.json", "small_registry.cpp", "include/small.h"}) {
    texts[file] = read_file(library.out() / file);
    fs::remove(library.out() / file);
  }
  EXPECT_THAT(recompiled(), IsEmpty());
  for (const auto& [file, text] : texts)
    EXPECT_TRUE(read_file(library.out() / file) == text) << file;
}

TEST(Emit, WhatIsNoLongerAskedForIsRemoved) {
  const SmallLibrary& library = emitted_library();
  const std::string before = read_file(library.out() / "small_kernels.o");
  // A compiler that was killed leaves its temporary object; other files are not ours.
  write_file(library.kernel_file("full", ".tmp.o"), "half an obj");
  write_file(library.out() / "kernels/notes.txt", "mine");
  const ProgramRun run =
      run_fovea({"emit", "--library", "small", "--pass", "prefill", "--variant", "full", "--target",
                 "x86-avx2", "--head-dim", "16", "--out", library.out().string()});
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  EXPECT_FALSE(fs::exists(library.kernel_file("full", ".tmp.o")));
  EXPECT_TRUE(fs::exists(library.kernel_file("full", ".o")));
  EXPECT_TRUE(fs::exists(library.out() / "kernels/notes.txt"));
  fs::remove(library.out() / "kernels/notes.txt");
  for (const char* variant : {"causal", "causal_window"}) {
    for (const char* extension : {".o", ".json", ".log", ".stmt"})
      EXPECT_FALSE(fs::exists(library.kernel_file(variant, extension)));
  }
  EXPECT_THAT(read_file(library.out() / "include/small.h"), Not(HasSubstr("causal")));
  EXPECT_EQ(read_file(library.out() / "visible_symbols.txt"),
            "fovea_halide_do_par_for\nsmall__" + SmallLibrary::kernel("full") + "_argv\n");
  EXPECT_EQ(recompiled(), (std::vector<std::string>{SmallLibrary::kernel("causal"),
                                                    SmallLibrary::kernel("causal_window")}));
  EXPECT_TRUE(read_file(library.out() / "small_kernels.o") == before);
}

TEST(Emit, BadRequestsAreNamed) {
  const ScratchFolder folder;
  const auto refusal = [&](std::vector<std::string> change, const char* how = "exit status 2") {
    std::vector<std::string> all = {"emit", "--library", "small", "--out", folder.path().string()};
    all.insert(all.end(), change.begin(), change.end());
    const ProgramRun run = run_fovea(all);
    EXPECT_EQ(run.how, how);
    return run.output;
  };
  EXPECT_THAT(refusal({"--variant", "casual"}),
              HasSubstr("fovea: variant 'casual': allowed is one of the declared: alibi, "));
  EXPECT_THAT(refusal({"--target", "x86-avx3"}),
              HasSubstr("fovea: target 'x86-avx3': allowed is one of x86-sse41, "));
  EXPECT_THAT(refusal({"--dtype", "f64"}), HasSubstr("fovea: dtype 'f64': allowed is "));
  EXPECT_THAT(refusal({"--pass", "sideways"}), HasSubstr("fovea: pass 'sideways': allowed is "));
  EXPECT_THAT(refusal({"--head-dim", "x"}), HasSubstr("fovea: head dimension 'x': allowed is "));
  EXPECT_THAT(refusal({"--jobs", "-1"}), HasSubstr("fovea: --jobs is -1: allowed is "));
  EXPECT_THAT(refusal({"--identity-file", "no-such-file"}, "exit status 1"),
              HasSubstr("no-such-file"));
  // Nothing was compiled for any of them.
  EXPECT_FALSE(fs::exists(folder.path() / "small_kernels.o"));
}

TEST(Command, UsageErrorsExitWith2) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"emit"},
                                             {"emit", "--library", "small"},
                                             {"emit", "--no-such-option"},
                                             {"no-such-command"},
                                             {"show"},
                                             {"list", "--head-dim"}}) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const ProgramRun run = run_fovea(arguments);
    EXPECT_EQ(run.how, "exit status 2");
    EXPECT_THAT(run.output, Not(IsEmpty()));
  }
  EXPECT_EQ(run_fovea({"--help"}).how, "exit status 0");
  EXPECT_EQ(run_fovea({"emit", "--help"}).how, "exit status 0");
  EXPECT_THAT(run_fovea({"--version"}).output, ::testing::MatchesRegex("fovea [0-9.]+\n"));
}

TEST(EmitFailure, AToolThatFailsIsNamed) {
  const SmallLibrary& library = emitted_library();
  const std::string before = read_file(library.out() / "small_kernels.o");
  struct Case {
    const char* option;
    const char* program;
    const char* reason;
  };
  for (const Case& c : {Case{"--linker", "fovea-no-such-linker", "No such file or directory"},
                        Case{"--objcopy", "false", "failed with exit status 1"}}) {
    SCOPED_TRACE(c.program);
    fs::remove(library.out() / "small_kernels.o");
    const ProgramRun run = run_fovea(library.arguments({c.option, c.program}));
    EXPECT_EQ(run.how, "exit status 1");
    EXPECT_THAT(run.output, HasSubstr(std::string("'") + c.program + "'"));
    EXPECT_THAT(run.output, HasSubstr(c.reason));
    EXPECT_FALSE(fs::exists(library.out() / "small_kernels.o"));
  }
  // The kernels were kept.
  EXPECT_THAT(recompiled(), IsEmpty());
  EXPECT_TRUE(read_file(library.out() / "small_kernels.o") == before);
}

TEST(EmitFailure, AKernelThatCannotBeWrittenIsNamed) {
  const SmallLibrary& library = emitted_library();
  fs::remove(library.kernel_file("causal", ".o"));
  // The compiler cannot write over a folder.
  fs::create_directory(library.kernel_file("causal", ".tmp.o"));
  const ProgramRun run = run_fovea(library.arguments());
  EXPECT_NE(run.how, "exit status 0");
  EXPECT_THAT(run.output, HasSubstr("kernel " + SmallLibrary::kernel("causal") + " failed with "));
  EXPECT_FALSE(fs::exists(library.kernel_file("causal", ".o")));
  EXPECT_FALSE(fs::exists(library.kernel_file("causal", ".json")));
  fs::remove(library.kernel_file("causal", ".tmp.o"));
  EXPECT_EQ(recompiled(), (std::vector<std::string>{SmallLibrary::kernel("causal")}));
}

TEST(EmitFailure, BadKernelNamesAreRefused) {
  const ProgramRun run = run_fovea({"emit-kernel", "--library", "small", "--out", "nowhere",
                                    "--kernel", "causal", "--identity", "0"});
  EXPECT_EQ(run.how, "exit status 2");
  EXPECT_THAT(run.output, HasSubstr("--kernel 'causal': not a kernel name"));
}

// An emission in the background, for tests that interfere with it.
class Background {
 public:
  Background(const std::vector<std::string>& arguments, const fs::path& log) {
    std::vector<std::string> all = {FOVEA_TEST_PROGRAM};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& a : all) pointers.push_back(a.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (posix_spawn(&pid_, FOVEA_TEST_PROGRAM, &actions, nullptr, pointers.data(), environ) != 0)
      pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }

  // The kernel compilers it has started, waiting for the first; empty when none came.
  std::vector<pid_t> compilers() const {
    const std::string list =
        "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children";
    for (int i = 0; i < 2000; ++i) {
      std::ifstream in(list);
      std::vector<pid_t> pids;
      for (pid_t pid; in >> pid;) pids.push_back(pid);
      if (!pids.empty()) return pids;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return {};
  }

  pid_t pid() const { return pid_; }
  int wait() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }

 private:
  pid_t pid_ = -1;
};

TEST(EmitFailure, AKernelThatDiesIsNamed) {
  const ScratchFolder folder;
  const std::string out = (folder.path() / "out").string();
  const Background emit({"emit", "--library", "small", "--pass", "prefill", "--variant", "causal",
                         "--target", "x86-avx2", "--head-dim", "16", "--out", out},
                        folder.path() / "log");
  const std::vector<pid_t> compilers = emit.compilers();
  if (!compilers.empty()) kill(compilers[0], SIGABRT);
  const int status = emit.wait();
  if (compilers.empty()) GTEST_SKIP() << "this kernel does not list the children of a process";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(
      read_file(folder.path() / "log"),
      HasSubstr("kernel " + SmallLibrary::kernel("causal") + " failed with signal 6 (Aborted)"));
}

TEST(EmitFailure, AnInterruptedEmissionLeavesNothingHalfDone) {
  const ScratchFolder folder;
  const fs::path out = folder.path() / "out";
  const std::vector<std::string> request = {"emit",     "--library", "small",      "--pass",
                                            "prefill",  "--variant", "causal",     "full",
                                            "--target", "x86-avx2",  "--head-dim", "16",
                                            "--jobs",   "1",         "--out",      out.string()};
  const Background emit(request, folder.path() / "log");
  // At some time during the second kernel.
  const fs::path first = out / "kernels" / (SmallLibrary::kernel("causal") + ".json");
  for (int i = 0; i < 10000 && !fs::exists(first); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const std::vector<pid_t> compilers = emit.compilers();
  kill(emit.pid(), SIGKILL);
  for (const pid_t pid : compilers) kill(pid, SIGKILL);
  emit.wait();
  EXPECT_FALSE(fs::exists(out / "small_kernels.o"));
  const FileTimes left = file_times(out);
  for (const auto& [file, time] : left) {
    if (!file.ends_with(".json")) continue;
    EXPECT_TRUE(left.count(file.substr(0, file.size() - 5) + ".o")) << file;
  }
  // The finished one is kept, the other made, and no trace of the interruption remains.
  const ProgramRun again = run_fovea(request);
  EXPECT_EQ(again.how, "exit status 0") << again.output;
  EXPECT_EQ(again.output, "[1/1] " + SmallLibrary::kernel("full") + "\n");
  for (const auto& [file, time] : file_times(out)) EXPECT_THAT(file, Not(HasSubstr(".tmp")));
}

}  // namespace
}  // namespace fovea
