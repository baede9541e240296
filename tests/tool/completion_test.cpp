// completion_test.cpp: the script of bash, at work. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "output_of.h"

namespace fovea {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

// What bash offers after these words: the function that the script registered is asked as bash asks
// it when somebody presses the tabulator.
std::vector<std::string> offers(const std::vector<std::string>& words) {
  std::string script =
      "source <(\"$0\" completion bash) || exit 1\n"
      "name=$(basename \"$0\")\n"
      "registered=$(complete -p \"$name\") || exit 1\n"
      "function=${registered##*-F }; function=${function%% *}\n"
      "COMP_WORDS=(\"$name\" \"$@\"); COMP_CWORD=$#; COMPREPLY=()\n"
      "\"$function\" \"$name\" \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "printf '%s\\n' \"${COMPREPLY[@]}\"\n";
  std::vector<std::string> command = {"bash", "-c", script, FOVEA_TEST_PROGRAM};
  command.insert(command.end(), words.begin(), words.end());
  const ProgramRun run = run_command(command);
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  std::vector<std::string> offered;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) offered.push_back(line);
  }
  return offered;
}

TEST(Completion, Commands) {
  EXPECT_THAT(offers({"in"}), ElementsAre("inspect"));
  EXPECT_THAT(offers({""}), IsSupersetOf({"list", "show", "emit", "bench", "doctor"}));
  EXPECT_THAT(offers({"emit-"}), IsEmpty());  // not for people
}

TEST(Completion, OptionsOfTheCommand) {
  EXPECT_THAT(offers({"bench", "--sh"}), ElementsAre("--shape"));
  EXPECT_THAT(offers({"bench", "--rounds", "3", "--max"}), ElementsAre("--max-time"));
  EXPECT_THAT(offers({"list", "--rou"}), IsEmpty());
}

TEST(Completion, CommandsOfACommand) {
  EXPECT_THAT(offers({"database", "me"}), ElementsAre("merge"));
  EXPECT_THAT(offers({"database", ""}), IsSupersetOf({"list", "merge", "prune", "export", "diff"}));
  EXPECT_THAT(offers({"database", "list", "--al"}), ElementsAre("--all"));
  EXPECT_THAT(offers({"database", "prune", "--al"}), IsEmpty());
}

TEST(Completion, Values) {
  EXPECT_THAT(offers({"bench", "--pass", ""}), UnorderedElementsAre("prefill", "decode"));
  EXPECT_THAT(offers({"emit", "--target", "x86-avx5"}), Contains("x86-avx512"));
  EXPECT_THAT(offers({"show", "causal_w"}), ElementsAre("causal_window"));
  EXPECT_THAT(offers({"completion", "z"}), ElementsAre("zsh"));
}

TEST(Completion, Files) {
  const ScratchFolder folder;
  write_if_changed(folder.path() / "rows.json", "{}");
  const std::string file = (folder.path() / "rows.json").string();
  EXPECT_THAT(offers({"report", (folder.path() / "ro").string()}), ElementsAre(file));
}

// Their shells are not asked here: the words are there.
TEST(Completion, OtherShells) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = stdout_of({"completion", shell});
    for (const char* word : {"inspect", "row", "x86-avx512", "prefill decode", "causal_window"})
      EXPECT_THAT(script, HasSubstr(word)) << shell;
  }
}

}  // namespace
}  // namespace fovea
