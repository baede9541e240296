// lowered_statement_test.cpp: what has to hold of every lowered kernel and of the objects made from
// them. SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "emission.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string statement(const std::string& variant) {
  return read_file(emitted_library().kernel_file(variant, ".stmt"));
}

// The lines that match, for messages and further checks.
std::vector<std::string> matching(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (const std::string& line : lines_of(text)) {
    if (std::regex_search(line, regex)) found.push_back(line);
  }
  return found;
}

// Global symbols as `nm` lists them: name -> kind (T code, U undefined, W weak, …).
std::map<std::string, char> global_symbols(const std::filesystem::path& object) {
  const ProgramRun nm = run_command({FOVEA_TEST_NM, "-P", "-g", object.string()});
  EXPECT_EQ(nm.how, "exit status 0") << nm.output;
  std::map<std::string, char> symbols;
  for (const std::string& line : lines_of(nm.output)) {
    std::istringstream fields(line);
    std::string name;
    char kind = 0;
    if (fields >> name >> kind) symbols[name] = kind;
  }
  return symbols;
}

TEST(LoweredStatement, StorageHasConstantSize) {
  for (const char* variant : SmallLibrary::variants) {
    SCOPED_TRACE(variant);
    const std::vector<std::string> allocations = matching(statement(variant), "^ *allocate ");
    EXPECT_GE(allocations.size(), 10u);
    const std::regex constant(R"(^ *allocate [\w.$]+\[\w+( \* \d+)*\]( in \w+)?$)");
    for (const std::string& line : allocations)
      EXPECT_TRUE(std::regex_match(line, constant)) << line;
  }
}

TEST(LoweredStatement, KernelsAreSerialAndCallNobody) {
  for (const char* variant : SmallLibrary::variants) {
    SCOPED_TRACE(variant);
    EXPECT_EQ(matching(statement(variant),
                       R"(halide_(error|do_par_for|malloc|print)|\bparallel\b|\bassert\b)"),
              std::vector<std::string>());
  }
}

TEST(LoweredStatement, WholeBlocksHaveNoMaskCode) {
  for (const char* variant : SmallLibrary::variants) {
    SCOPED_TRACE(variant);
    const std::string text = statement(variant);
    const auto whole = matching(text, R"(^ *score_full\[.*\] = )"),
               part = matching(text, R"(^ *score_partial\[.*\] = )");
    ASSERT_FALSE(whole.empty());
    ASSERT_FALSE(part.empty());
    for (const std::string& line : whole) EXPECT_THAT(line, Not(HasSubstr("select(")));
    // Without a mask, what is visible of a block ends at the last key, where its loops end too.
    const bool has_mask = variant != std::string("full");
    for (const std::string& line : part)
      EXPECT_EQ(line.find("select(") != std::string::npos, has_mask) << line;
    // Nor are rows of keys and values clamped to the last one.
    for (const std::string& line : matching(text, R"(^ *(product|weighted)_full\[)"))
      EXPECT_THAT(line, Not(HasSubstr("kv_len")));
  }
}

// The loops over key blocks end at the diagonal, begin at the window, and never test every block.
TEST(LoweredStatement, KeyBlocksAreBounded) {
  const auto bounds = [](const std::string& variant, const std::string& stage,
                         const std::string& end) {
    return matching(statement(variant),
                    R"(let \S*blocks_)" + stage + R"(\S*new_)" + end + R"(\S* = )");
  };
  const auto expect_some = [](const std::vector<std::string>& lines, const std::string& pattern) {
    EXPECT_TRUE(std::any_of(
        lines.begin(), lines.end(),
        [&](const std::string& line) { return std::regex_search(line, std::regex(pattern)); }))
        << pattern << " in none of " << ::testing::PrintToString(lines);
  };
  // Whole blocks of causal: up to the smaller of the tile's first row and the last key.
  expect_some(bounds("causal", "full", "max"), R"(min\(.*q_block.*q_offset.*kv_len)");
  expect_some(bounds("causal", "partial", "max"), R"(min\(.*q_block.*q_offset.*kv_len)");
  expect_some(bounds("causal", "partial", "min"), R"(min\(.*q_block.*q_offset.*kv_len)");
  expect_some(bounds("causal_window", "full", "min"), "parameter_window");
  expect_some(bounds("causal_window", "full", "max"), R"(min\(.*q_offset.*kv_len)");
  expect_some(bounds("causal_window", "partial", "min"), "parameter_window");
  expect_some(bounds("causal_window", "partial", "max"), R"(min\(.*q_offset.*kv_len)");
}

// Passes over the keys of a partial block stop at the last key that the tile sees.
TEST(LoweredStatement, KeysOfPartialBlocksAreTrimmed) {
  const std::string text = statement("causal");
  for (const char* pass : {"maximum", "sum", "weighted"}) {
    for (const std::string& line :
         matching(text, std::string(R"(for \()") + pass + R"(_partial\S*keys_partial)"))
      EXPECT_FALSE(std::regex_search(line, std::regex(R"(, 0, \d+\))"))) << line;
  }
}

// Values of keys that every row sees are added without asking, up to the tile's first row.
TEST(LoweredStatement, OnlyKeysOnTheEdgeAreAsked) {
  const std::string text = statement("causal");
  const auto seen = matching(text, R"(for \(weighted_partial\.s1\.seen_value_keys_partial)"),
             asked = matching(text, R"(for \(weighted_partial\.s2\.value_keys_partial)");
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(asked.size(), 1u);
}

// So do the loops that compute what these passes read.
TEST(LoweredStatement, ScoresOfPartialBlocksAreTrimmed) {
  for (const char* variant : {"causal", "causal_window", "full"}) {
    SCOPED_TRACE(variant);
    const std::string text = statement(variant);
    for (const char* loop : {"score_partial.s0.j.jo", "weight_partial.s0.j"}) {
      const auto lines = matching(text, std::string(R"(for \()") + loop + ",");
      EXPECT_FALSE(lines.empty()) << loop;
      for (const std::string& line : lines)
        EXPECT_FALSE(std::regex_search(line, std::regex(R"(, 0, \d+\))"))) << line;
    }
  }
}

TEST(LoweredStatement, AccumulatorsHaveAPlaceOfTheirOwn) {
  for (const char* variant : SmallLibrary::variants) {
    SCOPED_TRACE(variant);
    for (const char* tile : {"product_full", "weighted_full", "product_partial"}) {
      const auto lines = matching(statement(variant), std::string("allocate ") + tile);
      ASSERT_FALSE(lines.empty()) << tile;
      for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("float64"));
    }
  }
}

// Query rows lie in memory feature by feature, and the kernel wants them row by row: read whole and
// turned round.
TEST(LoweredStatement, QueryRowsAreReadWhole) {
  for (const char* variant : SmallLibrary::variants) {
    SCOPED_TRACE(variant);
    const auto lines = matching(statement(variant), R"(query_in\[)");
    EXPECT_FALSE(lines.empty());
    for (const std::string& line : lines)
      EXPECT_TRUE(std::regex_search(line, std::regex(R"(query_in\[ramp\(.*, \(int64\)1, 8\))")))
          << line;
  }
}

TEST(Objects, KernelsNeedMemoryAndLibmOnly) {
  const std::set<std::string> allowed = {"halide_malloc", "halide_free", "memcpy", "memset",
                                         "expf",          "logf",        "powf",   "tanhf"};
  for (const char* variant : SmallLibrary::variants) {
    SCOPED_TRACE(variant);
    const std::string symbol = "small__" + SmallLibrary::kernel(variant);
    std::set<std::string> defined;
    for (const auto& [name, kind] : global_symbols(emitted_library().kernel_file(variant, ".o"))) {
      if (kind == 'U') {
        EXPECT_TRUE(allowed.count(name)) << name;
      } else {
        defined.insert(name);
      }
    }
    EXPECT_EQ(defined, (std::set<std::string>{symbol, symbol + "_argv"}));
  }
}

TEST(Objects, OnlyEntryPointsAreVisible) {
  std::set<std::string> defined, undefined;
  for (const auto& [name, kind] : global_symbols(emitted_library().out() / "small_kernels.o"))
    (kind == 'U' ? undefined : defined).insert(name);
  std::set<std::string> expected = {"fovea_halide_do_par_for"};
  for (const char* variant : SmallLibrary::variants)
    expected.insert("small__" + SmallLibrary::kernel(variant) + "_argv");
  EXPECT_EQ(defined, expected);

  // What Halide's runtime asks of the C library and of threads, and our own scratch. No allocation
  // of Halide's that we have not renamed, no graphics driver, nothing of C++.
  const std::set<std::string> allowed = {"abort",
                                         "atoi",
                                         "dlerror",
                                         "dlopen",
                                         "dlsym",
                                         "expf",
                                         "fclose",
                                         "fileno",
                                         "fopen",
                                         "fopen64",
                                         "free",
                                         "fseek",
                                         "ftell",
                                         "fread",
                                         "fwrite",
                                         "getenv",
                                         "logf",
                                         "malloc",
                                         "memcmp",
                                         "memcpy",
                                         "memmove",
                                         "memset",
                                         "powf",
                                         "pthread_cond_broadcast",
                                         "pthread_cond_destroy",
                                         "pthread_cond_init",
                                         "pthread_cond_signal",
                                         "pthread_cond_wait",
                                         "pthread_create",
                                         "pthread_join",
                                         "pthread_mutex_destroy",
                                         "pthread_mutex_init",
                                         "pthread_mutex_lock",
                                         "pthread_mutex_unlock",
                                         "pthread_self",
                                         "sched_yield",
                                         "strcmp",
                                         "strlen",
                                         "strncmp",
                                         "strncpy",
                                         "strstr",
                                         "syscall",
                                         "sysconf",
                                         "tanhf",
                                         "usleep",
                                         "write",
                                         "close",
                                         "open",
                                         "remove",
                                         "mkstemp",
                                         "fovea_scratch_allocate",
                                         "fovea_scratch_release"};
  for (const std::string& name : undefined) EXPECT_TRUE(allowed.count(name)) << name;
}

// A kernel whose tile does not fit on the stack takes it from the worker's scratch, and its record
// says how much.
TEST(Objects, LargeStorageComesFromTheScratch) {
  const ScratchFolder folder;
  const ProgramRun run = run_fovea({"emit", "--library", "large", "--pass", "prefill", "--variant",
                                    "full", "--target", "x86-avx2", "--head-dim", "16/512",
                                    "--statement", "--out", folder.path().string()});
  ASSERT_EQ(run.how, "exit status 0") << run.output;
  const auto symbols = global_symbols(folder.path() / "large_kernels.o");
  EXPECT_TRUE(symbols.count("fovea_scratch_allocate"));
  EXPECT_TRUE(symbols.count("fovea_scratch_release"));

  const std::string stem =
      (folder.path() / "kernels/fovea_prefill__full__f32__d16x512__x86_avx2").string();
  int64_t heap = 0, of_body = 0;
  for (const std::string& line : matching(read_file(stem + ".stmt"), R"(^ *allocate |^\} else)")) {
    // Of the kernel's bodies one runs in a call.
    if (line.find("allocate") == std::string::npos) of_body = 0;
    int64_t bytes = 4;
    const std::regex number(R"( \* (\d+))");
    for (auto it = std::sregex_iterator(line.begin(), line.end(), number);
         it != std::sregex_iterator(); ++it)
      bytes *= std::stoll((*it)[1].str());
    if (bytes > 16 * 1024) of_body += bytes;  // Halide's limit for the stack
    heap = std::max(heap, of_body);
  }
  EXPECT_GT(heap, 0);
  const auto record = nlohmann::json::parse(read_file(stem + ".json"));
  EXPECT_GE(record.at("scratch_bytes").get<int64_t>(), heap);
  EXPECT_LE(record.at("scratch_bytes").get<int64_t>(), 2 * heap);
}

}  // namespace
}  // namespace fovea
