// new_project_test.cpp: `new` writes a project or nothing. That it builds and passes its own test
// is a consumer test. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generators/project/new_project.h"
#include "output_of.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NewProject, HasTheNameEverywhere) {
  const ScratchFolder folder;
  const fs::path out = folder.path() / "deep/project";
  EXPECT_THAT(stdout_of({"new", "fading", "--out", out.string()}), HasSubstr("--target bench"));
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(out)) {
    const std::string text = read_file(entry.path());
    EXPECT_THAT(text, HasSubstr("fading")) << entry.path();
    EXPECT_THAT(text, Not(HasSubstr("{{"))) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 3u);
}

TEST(NewProject, OverwritesNothing) {
  const ScratchFolder folder;
  const fs::path out = folder.path() / "project";
  write_new_project("first", out);
  const std::string before = read_file(out / "variants.cpp");
  const ProgramRun again = run_fovea({"new", "second", "--out", out.string()});
  EXPECT_EQ(again.how, "exit status 2");
  EXPECT_THAT(again.output, HasSubstr("is not empty: nothing was written"));
  EXPECT_EQ(read_file(out / "variants.cpp"), before);
  // A folder with somebody's one file is not ours either, nor is a file.
  const fs::path other = folder.path() / "other";
  fs::create_directory(other);
  write_if_changed(other / "notes.txt", "mine");
  EXPECT_EQ(run_fovea({"new", "second", "--out", other.string()}).how, "exit status 2");
  EXPECT_FALSE(fs::exists(other / "CMakeLists.txt"));
  EXPECT_EQ(run_fovea({"new", "second", "--out", (other / "notes.txt").string()}).how,
            "exit status 2");
  EXPECT_EQ(read_file(other / "notes.txt"), "mine");
}

TEST(NewProject, NamesThatNoVariantCanHave) {
  const ScratchFolder folder;
  for (const char* name : {"", "1st", "Upper", "with space", "two__lines", "ends_", "test", "for",
                           "../up", "a-b", "std"}) {
    EXPECT_THROW(write_new_project(name, folder.path() / "project"), std::invalid_argument) << name;
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace fovea
