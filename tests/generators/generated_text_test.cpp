// generated_text_test.cpp: headers, registry source and manifest of a small library with every kind
// of parameter, against goldens and against compilers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/fovea.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generators/emit/child_process.h"
#include "generators/emit/files.h"
#include "generators/emit/library_spec.h"
#include "scratch_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Schedules and sizes are fixed here: tuning is not to change a golden.
LibraryPlan sample_plan() {
  Variant everything("everything");
  everything.summary("one of each: scores in (0, 50], 100% of \"keys\"");
  everything.source("nobody et al. 1999, arXiv:0000.00000");
  everything.family("samples");
  everything.note("Differs from it in everything");
  const auto cap = everything.scalar<float>("cap").positive().at_most(50);
  const auto slope = everything.scalar<float>("slope");
  const auto offset = everything.scalar<float>("offset").at_most(0.1f);
  const auto window =
      everything.scalar<int>("window").at_least(1).describe("keys, itself included");
  const auto shift = everything.scalar<int>("shift").between(-3, 3);
  const auto bias =
      everything.table<float>("bias", {axis::batch, axis::head, axis::query, axis::key});
  const auto kind = everything.table<int>("kind", {axis::kv_head, 3, axis::any});
  const auto gate = everything.table<float>("gate", {axis::row, axis::feature})
                        .describe("factors of the query, without unit");
  const auto level = everything.table<float>("level", {axis::value_feature});
  const auto allowed = everything.table<bool>("allowed", {axis::position, axis::key})
                           .describe("which keys a query may see");
  everything.score([=](Expr s, Position p) {
    return cap * tanh(s / cap) * slope + offset + bias(p.batch, p.head, p.q, p.k);
  });
  everything.query(
      [=](const Row& row, Expr d, const Position& p) { return row(d) * gate(p.row, d); });
  everything.output([=](const Row& row, Expr d, const Position&) { return row(d) + level(d); });
  everything.keep([=](Position p) {
    return p.q - p.k < window + shift && kind(p.kv_head, 0, p.k) != 0 && allowed(p.q, p.k);
  });
  everything.slices(2, [](const std::vector<Expr>& o, const Position&) { return o[0] - o[1]; });
  for (const Output output : {lse, row_max, row_sum, probabilities}) everything.returns(output);
  const Variant plain("plain");

  LibraryPlan plan = plan_library(
      {"sample", {}, {"x86-avx2", "x86-avx512"}, {"f32"}, {"64", "192/128"}, {"prefill", "decode"}},
      {everything, plain});
  int rows = 8;
  for (PlannedKernel& k : plan.kernels) {
    k.facts.block_rows = rows;
    k.facts.scratch_bytes = static_cast<size_t>(rows) * 64;
    if (k.spec.pass == "prefill") {
      k.schedule = PrefillCpuSchedule{8, 3, 4, 4, 128, 4, 4};
    } else {
      k.schedule = DecodeCpuSchedule{8, 4, 0, 128, 4, 8, 2};
      k.facts.tile_rows = {1, 4};
      k.facts.key_block = 128;
      k.facts.chunk_blocks = 4;
      k.facts.record_lanes = 8;
      k.facts.record_slots = 20;
      k.facts.record_groups = 1;
      k.facts.range_of_head = k.spec.variant == "everything";
    }
    rows += 8;
  }
  plan.kernels.back().facts.tile_fallback = "the derived condition 'live' disagrees with the mask";
  return plan;
}

std::string without_versions(std::string text) {
  const std::string halide = std::to_string(HALIDE_VERSION_MAJOR) + "." +
                             std::to_string(HALIDE_VERSION_MINOR) + "." +
                             std::to_string(HALIDE_VERSION_PATCH),
                    fovea = std::to_string(FOVEA_VERSION_MAJOR) + "." +
                            std::to_string(FOVEA_VERSION_MINOR) + "." +
                            std::to_string(FOVEA_VERSION_PATCH);
  for (const auto& [version, name] : {std::pair{halide, "HALIDE"}, std::pair{fovea, "FOVEA"}}) {
    for (size_t at; (at = text.find(version)) != std::string::npos;)
      text.replace(at, version.size(), std::string(name) + "_VERSION");
  }
  return text;
}

void expect_golden(const std::string& name, const std::string& text) {
  const fs::path path = fs::path(FOVEA_TEST_GOLDEN_DIR) / name;
  const std::string actual = without_versions(text);
  if (const char* update = std::getenv("FOVEA_UPDATE_GOLDEN");
      update && std::string(update) == "1") {
    write_if_changed(path, actual);
    return;
  }
  const std::string expected = fs::exists(path) ? read_file(path) : "";
  EXPECT_EQ(actual, expected) << "tests/generators/golden/" << name
                              << " differs from what is generated. If the change is wanted, run "
                                 "this test with FOVEA_UPDATE_GOLDEN=1 and commit the difference.";
}

TEST(GeneratedText, CHeader) { expect_golden("sample.h", c_header(sample_plan())); }
TEST(GeneratedText, CppHeader) { expect_golden("sample.hpp", cpp_header(sample_plan())); }
TEST(GeneratedText, Registry) {
  expect_golden("sample_registry.cpp", registry_source(sample_plan()));
}
TEST(GeneratedText, Manifest) { expect_golden("sample.json", manifest(sample_plan())); }

// Compiles a source beside the generated headers; returns what the compiler says.
class GeneratedCode : public ::testing::Test {
 protected:
  void SetUp() override {
    const LibraryPlan plan = sample_plan();
    write_if_changed(folder_.path() / "sample.h", c_header(plan));
    write_if_changed(folder_.path() / "sample.hpp", cpp_header(plan));
    write_if_changed(folder_.path() / "sample_registry.cpp", registry_source(plan));
  }

  void compile(const std::string& compiler, const std::string& standard, const std::string& name,
               const std::string& source) {
    const fs::path path = folder_.path() / name;
    if (!source.empty()) write_if_changed(path, source);
    std::vector<std::string> command = {compiler,
                                        standard,
                                        "-pedantic-errors",
                                        "-Wall",
                                        "-Wextra",
                                        "-Wshadow",
                                        "-Wconversion",
                                        "-Werror",
                                        "-fsyntax-only",
                                        "-I",
                                        folder_.path().string(),
                                        "-I",
                                        FOVEA_TEST_RUNTIME_INCLUDE,
                                        path.string()};
    // Prototypes are a matter of C; C++ has no others.
    if (standard == "-std=c99") command.insert(command.begin() + 2, "-Wstrict-prototypes");
    EXPECT_NO_THROW(run_program(command, folder_.path() / "log"))
        << read_file(folder_.path() / "log");
  }

  ScratchFolder folder_;
};

constexpr const char* use_in_c = R"(#include "sample.h"
#include "sample.h"
fovea_status use(const fovea_call* call) {
  sample_everything_params params = {0};
  params.cap = 1.0f;
  params.window = 3;
  params.bias.stride[0] = 0;
  params.allowed.data = "";
  if (sample_everything_workspace(call) > 0 && sample_library()) return sample_plain(call, NULL);
  return sample_everything(call, &params);
}
)";

TEST_F(GeneratedCode, HeaderIsC99) { compile(FOVEA_TEST_CC, "-std=c99", "use.c", use_in_c); }
TEST_F(GeneratedCode, HeaderIsC17) { compile(FOVEA_TEST_CC, "-std=c17", "use.c", use_in_c); }

TEST_F(GeneratedCode, HeaderIsCpp17) {
  // The brace initialiser of C lacks fields for C++'s taste.
  std::string source = use_in_c;
  source.replace(source.find("= {0}"), 5, "= {}");
  compile(FOVEA_TEST_CXX, "-std=c++17", "use.cpp", source);
}

TEST_F(GeneratedCode, CppHeaderIsCpp17) {
  compile(FOVEA_TEST_CXX, "-std=c++17", "use_hpp.cpp", R"(#include "sample.hpp"
#include "sample.hpp"
bool use(const fovea_call& call) {
  sample::everything::Params params = {};
  params.cap = 1.0f;
  const fovea::Status one = sample::everything::run(call, params);
  const fovea::Status two = sample::plain::run(call);
  return sample::plain::workspace(call) > sample::everything::explain(call).size() &&
         &one != &two;
}
)");
}

TEST_F(GeneratedCode, RegistryIsCpp17) {
  compile(FOVEA_TEST_CXX, "-std=c++17", "sample_registry.cpp", "");
}

TEST(GeneratedText, SymbolsAreIdentifiers) {
  const std::string registry = registry_source(sample_plan());
  for (const PlannedKernel& k : sample_plan().kernels) {
    EXPECT_EQ(k.symbol.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
              std::string::npos)
        << k.symbol;
    const std::vector<std::string> functions = kernel_symbols(k);
    EXPECT_EQ(functions.size(), k.spec.pass == "decode" ? 4u : 1u);
    for (const std::string& f : functions) {
      EXPECT_TRUE(f.starts_with(k.symbol) && f.ends_with("_argv")) << f;
      EXPECT_NE(registry.find("int " + f + "(void**"), std::string::npos) << f;
    }
  }
}

// A reader of the manifest finds every kernel, its variant and its target by name.
TEST(GeneratedText, ManifestIsComplete) {
  const LibraryPlan plan = sample_plan();
  const auto root = nlohmann::json::parse(manifest(plan));
  EXPECT_EQ(root.at("schema"), 1);
  EXPECT_EQ(root.at("library"), "sample");
  ASSERT_EQ(root.at("kernels").size(), plan.kernels.size());
  const auto named = [&](const char* list, const std::string& name) {
    for (const auto& row : root.at(list)) {
      if (row.at("name") == name) return true;
    }
    return false;
  };
  for (const auto& row : root.at("kernels")) {
    const auto spec = parse_kernel_name(row.at("name"));
    ASSERT_TRUE(spec) << row;
    EXPECT_EQ(row.at("d_qk"), spec->d_qk);
    EXPECT_EQ(row.at("d_v"), spec->d_v);
    EXPECT_TRUE(named("variants", row.at("variant")));
    EXPECT_TRUE(named("targets", row.at("target")));
    EXPECT_GT(row.at("block_rows"), 0);
  }
}

TEST(GeneratedText, ASummaryOfOtherEncodingIsNoObstacle) {
  Variant v("latin");
  v.summary("caf\xe9");
  const LibraryPlan plan =
      plan_library({"sample", {}, {"x86-avx2"}, {"f32"}, {"64"}, {"prefill"}}, {v});
  EXPECT_EQ(nlohmann::json::parse(manifest(plan)).at("variants").at(0).at("summary"),
            "caf\xef\xbf\xbd");
}

TEST(GeneratedText, HashesHaveSixteenDigits) {
  EXPECT_EQ(hash_text(0), "0000000000000000");
  EXPECT_EQ(hash_text(0xabcdefu), "0000000000abcdef");
  EXPECT_EQ(hash_text(~uint64_t{0}), "ffffffffffffffff");
}

}  // namespace
}  // namespace fovea
