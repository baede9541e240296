// arm64_loops_test.cpp: what the hot loops of Arm kernels cost on models of CPUs that are not here,
// by llvm-mca, against what their multiply-adds alone would cost.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "figures.h"
#include "generators/inspect/hot_loops.h"

namespace fovea::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> models = {"cortex-a76", "neoverse-n1", "neoverse-v1", "apple-m1"};
constexpr int iterations = 100;

// Of the bound, in the loops of f32 that multiply.
constexpr int64_t least_percent = 85;

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "cannot be started: " + command;
  char part[1 << 16];
  for (size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) text.append(part, n);
  if (const int status = pclose(pipe); !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return "failed: " + command + "\n" + text;
  return text;
}

double number_after(const std::string& text, const std::string& label) {
  const size_t at = text.find(label);
  return at == std::string::npos ? NAN : std::strtod(text.c_str() + at + label.size(), nullptr);
}

std::string model_of(const std::string& model, const std::string& loop) {
  const fs::path file =
      fs::temp_directory_path() / fmt::format("fovea_arm64_loop_{}.s", static_cast<long>(getpid()));
  std::ofstream(file) << loop;
  const std::string text =
      output_of(fmt::format("'{}' -mtriple=aarch64 -mcpu={} -iterations={} '{}'", FOVEA_TEST_MCA,
                            model, iterations, file.string()));
  fs::remove(file);
  return text;
}

// Cycles of an iteration, and those that the multiply-adds alone occupy their units.
struct Cost {
  double cycles, bound;
};

Cost cost_of(const std::string& model, const LoopText& loop) {
  const std::string all = model_of(model, loop.all), alone = model_of(model, loop.multiply_adds);
  const Cost cost = {number_after(all, "Total Cycles:") / iterations,
                     number_after(alone, "Block RThroughput:")};
  EXPECT_GT(cost.cycles, 0) << all;
  EXPECT_GT(cost.bound, 0) << alone;
  return cost;
}

// Loops of exponentials hold multiply-adds as well, among other things.
bool multiplies(const Loop& loop) {
  return 2 * loop.multiply_adds > static_cast<int64_t>(loop.body.size());
}

bool is_prefill_of_f32(const std::string& kernel) {
  return kernel.rfind("fovea_prefill__", 0) == 0 && kernel.find("__f32__") != std::string::npos;
}

std::vector<Loop> hot_loops_of_all(const std::string& disassembly) {
  std::vector<Loop> all;
  for (const DisassembledFunction& function : functions_of(disassembly)) {
    for (Loop& loop : hot_loops(function)) all.push_back(std::move(loop));
  }
  return all;
}

void measure(Figures* measured) {
  for (const char* folder : {FOVEA_TEST_PREFILL_OBJECTS, FOVEA_TEST_DECODE_OBJECTS}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string kernel = entry.path().stem().string();
      if (entry.path().extension() != ".o" || kernel.rfind("fovea_append", 0) == 0) continue;
      const std::string text = output_of(fmt::format("'{}' -d --no-show-raw-insn '{}'",
                                                     FOVEA_TEST_OBJDUMP, entry.path().string()));
      const HotLoops sums = hot_loops(text);
      ASSERT_GT(sums.multiply_adds, 0) << kernel << "\n" << text.substr(0, 1000);
      (*measured)[{kernel, "hot_loop_instructions"}] = sums.instructions;
      (*measured)[{kernel, "hot_loop_multiply_adds"}] = sums.multiply_adds;
      (*measured)[{kernel, "spills"}] = sums.spills;
      int64_t loops = 0, spills = 0;
      std::vector<int64_t> least(models.size(), 100);
      for (const Loop& loop : hot_loops_of_all(text)) {
        if (!multiplies(loop)) continue;
        ++loops;
        spills += loop.spills;
        for (size_t i = 0; i < models.size(); ++i) {
          const Cost cost = cost_of(models[i], loop_text(loop));
          least[i] = std::min<int64_t>(least[i], std::llround(100 * cost.bound / cost.cycles));
        }
      }
      (*measured)[{kernel, "multiplying_loops"}] = loops;
      (*measured)[{kernel, "spills_of_multiplying_loops"}] = spills;
      for (size_t i = 0; loops > 0 && i < models.size(); ++i)
        (*measured)[{kernel, "percent_of_bound_" + models[i]}] = least[i];
    }
  }
}

TEST(Arm64Loops, AreAsCommittedAndNearTheBound) {
  Figures measured;
  measure(&measured);
  ASSERT_FALSE(measured.empty());
  int judged = 0;
  for (const auto& [key, value] : measured) {
    const auto& [kernel, figure] = key;
    if (!is_prefill_of_f32(kernel)) continue;
    if (figure.rfind("percent_of_bound_", 0) == 0) {
      ++judged;
      EXPECT_GE(value, least_percent) << kernel << " " << figure;
    }
    if (figure == "spills_of_multiplying_loops") {
      EXPECT_EQ(value, 0) << kernel;
    }
    if (figure == "multiplying_loops") {
      EXPECT_GE(value, 2) << kernel;
    }
  }
  EXPECT_GE(judged, 4);
  expect_committed(measured, FOVEA_TEST_FIGURES,
                   [](const std::string&, const std::string&) { return false; });
}

}  // namespace
}  // namespace fovea::test
