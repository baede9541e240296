// describe_command_test.cpp: `list`, `show` and `catalogue` from outside.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "generators/describe/layout.h"
#include "program_run.h"
#include "scratch_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string output_of(const std::vector<std::string>& arguments) {
  const ProgramRun run = run_fovea(arguments);
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  return run.output;
}

std::string refusal_of(const std::vector<std::string>& arguments) {
  const ProgramRun run = run_fovea(arguments);
  EXPECT_EQ(run.how, "exit status 2") << run.output;
  return run.output;
}

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // A word that cannot be broken may be longer.
    if (line.find_last_of(' ') > line_width / 2) {
      EXPECT_LE(width_of(line), 100u) << line;
    }
  }
}

TEST(List, Json) {
  const Json root = Json::parse(output_of({"list", "--json"}));
  for (const char* list : {"variants", "kernels", "targets"}) {
    ASSERT_FALSE(root.at(list).empty()) << list;
    for (const Json& row : root.at(list)) EXPECT_FALSE(row.at("name").get<std::string>().empty());
  }
  for (const Json& row : root.at("variants")) {
    EXPECT_FALSE(row.at("summary").get<std::string>().empty()) << row;
    EXPECT_EQ(row.at("hash").get<std::string>().size(), 16u);
    EXPECT_TRUE(row.at("source").is_string());
    EXPECT_TRUE(row.at("family").is_string());
    for (const Json& p : row.at("parameters")) {
      EXPECT_FALSE(p.at("name").get<std::string>().empty());
      EXPECT_TRUE(p.at("kind") == "scalar" || p.at("kind") == "table") << p;
      EXPECT_TRUE(p.at(p.at("kind") == "scalar" ? "range" : "axes").is_string()) << p;
    }
  }
  for (const Json& row : root.at("kernels")) {
    for (const char* key : {"variant", "pass", "dtype", "target", "schedule"})
      EXPECT_TRUE(row.at(key).is_string()) << key;
    EXPECT_TRUE(row.at("d_qk").is_number_integer());
    EXPECT_TRUE(row.at("d_v").is_number_integer());
  }
  // Two head dimensions and both passes of every variant for every target of this machine's
  // architecture that is for f32.
  size_t targets = 0;
  for (const Json& row : root.at("targets"))
    targets += row.at("dtypes").at(0) == "f32" && row.at("architecture") == "x86" ? 1 : 0;
  EXPECT_EQ(root.at("kernels").size(), 2 * 2 * root.at("variants").size() * targets);
  // The text names the same things.
  const std::string text = output_of({"list", "--kernels"});
  for (const char* list : {"variants", "kernels", "targets"}) {
    for (const Json& row : root.at(list))
      EXPECT_THAT(text, HasSubstr(row.at("name").get<std::string>()));
  }
}

TEST(List, WithoutKernelsItFitsATerminal) {
  const std::string text = output_of({"list"});
  expect_narrow(text);
  EXPECT_THAT(text, Not(HasSubstr("fovea_prefill__")));
}

TEST(Show, Json) {
  const Json root = Json::parse(output_of({"show", "--variant", "causal_window", "--shape",
                                           "sq=4,skv=4", "--set", "window=2", "--json"}));
  EXPECT_EQ(root.at("name"), "causal_window");
  EXPECT_THAT(root.at("declaration").get<std::string>(), HasSubstr("variant causal_window\n"));
  EXPECT_EQ(root.at("hash").get<std::string>().size(), 16u);
  for (const char* key : {"summary", "source", "family", "shape", "target"})
    EXPECT_TRUE(root.at(key).is_string()) << key;
  EXPECT_EQ(root.at("formula"), (Json{"keep k <= q && q - k < window"}));
  EXPECT_EQ(root.at("steps").at(1).at("part"), "mask");
  EXPECT_EQ(root.at("outputs"), (Json{"lse"}));
  EXPECT_EQ(root.at("parameters").at(0).at("name"), "window");
  EXPECT_EQ(root.at("parameters").at(0).at("example"), "2");
  EXPECT_EQ(root.at("mask"), (Json{"#...", "##..", ".##.", "..##"}));
  const Json& tiles = root.at("tile_status");
  for (const char* key :
       {"block_rows", "key_block", "live", "full", "live_key", "full_key", "fallback"})
    EXPECT_TRUE(tiles.contains(key)) << key;
  EXPECT_EQ(tiles.at("fallback"), "");
  // 8 heads of 4 x 4 pairs: one partial tile each.
  EXPECT_EQ(tiles.at("tiles"), 8);
  EXPECT_EQ(tiles.at("partial_tiles"), 8);
  EXPECT_EQ(tiles.at("best").at("partial_tiles"), 8);
}

TEST(Show, Text) {
  const std::string text =
      output_of({"show", "causal_window", "--shape", "sq=4,skv=4", "--set", "window=2"});
  EXPECT_THAT(text, StartsWith("causal_window\n"));
  EXPECT_THAT(text, HasSubstr("  █▄··\n  ·▀█▄\n"));
  EXPECT_THAT(text, HasSubstr("2 mask     keep k <= q && q - k < window"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));  // no colours in a pipe
}

TEST(Show, EveryVariantFitsATerminal) {
  for (const Json& v : Json::parse(output_of({"list", "--json"})).at("variants")) {
    SCOPED_TRACE(v.at("name"));
    const std::string text = output_of({"show", v.at("name"), "--shape", "sq=64,skv=64"});
    expect_narrow(text);
    EXPECT_THAT(text, HasSubstr(v.at("summary").get<std::string>().substr(0, 20)));
    EXPECT_THAT(text, HasSubstr(v.at("hash").get<std::string>()));
  }
}

// FOVEA_TEST_DOCS is the folder of the pages, set by the build.
TEST(Show, ModelPresetsAreVariantsAndValues) {
  std::istringstream rows(read_file(fs::path(FOVEA_TEST_DOCS) / "model-presets.md"));
  size_t presets = 0;
  for (std::string row; std::getline(rows, row);) {
    // | model | layers | `variant name=value …` | remarks |
    size_t bar = 0;
    for (int column = 0; column < 3 && bar != std::string::npos; ++column)
      bar = row.find('|', column ? bar + 1 : 0);
    if (bar == std::string::npos || row.compare(bar, 3, "| `") != 0) continue;
    std::istringstream words(row.substr(bar + 3, row.find('`', bar + 3) - bar - 3));
    std::vector<std::string> arguments = {"show", "--shape", "sq=64,skv=64"};
    std::string word;
    words >> word;
    arguments.push_back("--variant=" + word);
    while (words >> word) arguments.push_back("--set=" + word);
    SCOPED_TRACE(row);
    output_of(arguments);
    ++presets;
  }
  EXPECT_GE(presets, 15u);
}

TEST(Show, Pictures) {
  const ScratchFolder folder;
  const fs::path svg = folder.path() / "causal.svg", png = folder.path() / "causal.png";
  output_of({"show", "causal", "--picture", svg.string()});
  EXPECT_THAT(read_file(svg), StartsWith("<svg "));
  output_of({"show", "causal", "--picture", png.string()});
  EXPECT_THAT(read_file(png), StartsWith("\x89PNG\r\n\x1a\n"));
  EXPECT_THAT(refusal_of({"show", "causal", "--picture", (folder.path() / "causal.gif").string()}),
              HasSubstr(".svg or .png"));
}

TEST(Show, Refusals) {
  EXPECT_THAT(refusal_of({"show", "casual"}),
              HasSubstr("variant 'casual' is not declared; did you mean 'causal'?: allowed is"));
  EXPECT_THAT(refusal_of({"show", "zzzzzz"}), HasSubstr("'zzzzzz' is not declared: allowed is"));
  EXPECT_THAT(refusal_of({"show", "full", "--shape", "sq=0"}), HasSubstr("'sq=0'"));
  EXPECT_THAT(refusal_of({"show", "full", "--target", "x87"}), HasSubstr("--target 'x87'"));
  for (const char* setting : {"window", "no_such=1", "=1", "window=", "window=wide", "window=8k",
                              "window=0", "window=nan", "window=1e10", "window=2.5"})
    EXPECT_THAT(refusal_of({"show", "--variant", "causal_window", "--set", setting}),
                HasSubstr(std::string("--set '") + setting + "'"));
}

TEST(Catalogue, OnePageWithEveryVariant) {
  const ScratchFolder folder;
  output_of({"catalogue", "--out", folder.path().string()});
  const std::string page = read_file(folder.path() / "variants.md");
  for (const Json& v : Json::parse(output_of({"list", "--json"})).at("variants"))
    EXPECT_THAT(page, HasSubstr("| **" + v.at("name").get<std::string>() + "**"));
  // Every picture is shown, and every one that is shown is there.
  std::set<std::string> shown;
  const std::string mark = "<img src=\"";
  for (size_t at = 0; (at = page.find(mark, at)) != std::string::npos;) {
    at += mark.size();
    shown.insert(page.substr(at, page.find('"', at) - at));
  }
  std::set<std::string> there;
  for (const auto& entry : fs::directory_iterator(folder.path() / "pictures")) {
    there.insert("pictures/" + entry.path().filename().string());
    EXPECT_LT(fs::file_size(entry), 32000u) << entry.path();
  }
  EXPECT_EQ(shown, there);
  EXPECT_TRUE(there.count("pictures/causal.svg"));
  EXPECT_FALSE(there.count("pictures/full.svg"));
}

}  // namespace
}  // namespace fovea
