// doctor_test.cpp: `doctor` on this machine and on broken ones. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output_of.h"

namespace fovea {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

// With these settings of the environment, "NAME=value".
ProgramRun doctor_with(std::vector<std::string> environment, std::vector<std::string> arguments) {
  std::vector<std::string> command = {"/usr/bin/env"};
  command.insert(command.end(), environment.begin(), environment.end());
  command.insert(command.end(), {FOVEA_TEST_PROGRAM, "doctor"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command);
}

Json check_of(const Json& root, const std::string& name) {
  for (const Json& check : root.at("checks")) {
    if (check.at("name") == name) return check;
  }
  ADD_FAILURE() << "no check of " << name;
  return {};
}

TEST(Doctor, NothingIsMissingHere) {
  const Json root = Json::parse(stdout_of({"doctor", "--json"}));
  EXPECT_EQ(root.at("ok"), true) << root.dump(1);
  for (const char* name : {"CPU", "x86-avx2", "fovea", "runtime sources", "ld", "objcopy",
                           "kernel cache", "llvm-mca-19", "cmake", "peers"}) {
    const Json check = check_of(root, name);
    EXPECT_THAT(check.at("found").get<std::string>(), ::testing::Not("")) << name;
  }
  EXPECT_EQ(check_of(root, "x86-sse41").at("finding"), "ok");
}

TEST(Doctor, WithoutProgramsItSaysWhatToInstall) {
  const ProgramRun run = doctor_with({"PATH=/nonexistent"}, {});
  EXPECT_EQ(run.how, "exit status 1") << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("MISSING  ld"), HasSubstr("MISSING  objcopy"),
                                HasSubstr("→ install the Debian package binutils"),
                                HasSubstr("note     llvm-mca-19"), HasSubstr("scripts/setup.sh"),
                                HasSubstr("of what is needed are missing")));
}

TEST(Doctor, ACompilerThatIsNotThereIsNamed) {
  const ProgramRun run = doctor_with({}, {"--cxx", "/no/such/g++"});
  EXPECT_EQ(run.how, "exit status 1") << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("MISSING  /no/such/g++"), HasSubstr("--cxx")));
}

TEST(Doctor, FoldersThatCannotBeUsed) {
  const ScratchFolder folder;
  write_if_changed(folder.path() / "file", "no folder");
  const std::string cache = (folder.path() / "file/cache").string();
  const ProgramRun run = doctor_with({}, {"--cache", cache, "--runtime", "/nowhere"});
  EXPECT_EQ(run.how, "exit status 1") << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("MISSING  kernel cache"), HasSubstr("XDG_CACHE_HOME"),
                                HasSubstr("MISSING  runtime sources"), HasSubstr("--runtime")));
}

TEST(Doctor, AForcedTargetIsMentioned) {
  const ProgramRun known = doctor_with({"FOVEA_TARGET=x86-sse41"}, {});
  EXPECT_EQ(known.how, "exit status 0") << known.output;
  EXPECT_THAT(known.output, HasSubstr("'x86-sse41' forces the target of every call"));
  const ProgramRun unknown = doctor_with({"FOVEA_TARGET=x87"}, {});
  EXPECT_EQ(unknown.how, "exit status 1") << unknown.output;
  EXPECT_THAT(unknown.output, HasSubstr("MISSING  FOVEA_TARGET"));
}

}  // namespace
}  // namespace fovea
