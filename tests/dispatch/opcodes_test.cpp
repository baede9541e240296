// opcodes_test.cpp: no instruction of a newer CPU outside the kernels that are chosen for it, by
// the disassembly of a whole library. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/generators/program_run.h"

namespace fovea {
namespace {

// What an instruction needs, by its registers and its name.
enum Need { kAvx, kYmm, kZmm, kMask, kTile };

// Whether a vector register that only AVX-512 has is named: any zmm, or one from 16 on.
bool names_new_register(const std::string& instruction) {
  if (instruction.find("%zmm") != std::string::npos) return true;
  for (size_t at = 0; (at = instruction.find("mm", at)) != std::string::npos; at += 2) {
    if (std::atoi(instruction.c_str() + at + 2) >= 16) return true;
  }
  return false;
}

std::set<Need> needs_of(const std::string& mnemonic, const std::string& instruction) {
  const auto has = [&](const char* text) { return instruction.find(text) != std::string::npos; };
  std::set<Need> needs;
  if (mnemonic[0] == 'v' && mnemonic != "verr" && mnemonic != "verw") needs.insert(kAvx);
  if (has("%ymm")) needs.insert(kYmm);
  if (names_new_register(instruction)) needs.insert(kZmm);
  for (const char* mask : {"%k0", "%k1", "%k2", "%k3", "%k4", "%k5", "%k6", "%k7"}) {
    if (has(mask)) needs.insert(kMask);
  }
  if (has("%tmm") || mnemonic.find("tile") != std::string::npos) needs.insert(kTile);
  return needs;
}

// The target whose kernel a function belongs to; "baseline" for all others.
std::string target_of(const std::string& function) {
  if (function.find("__causal__") == std::string::npos) return "baseline";
  for (const char* target :
       {"x86_avx512_bf16_intel", "x86_avx512_bf16_amd", "x86_avx512", "x86_avx2", "x86_sse41"}) {
    if (function.find(target) != std::string::npos) return target;
  }
  return "baseline";
}

struct Library {
  std::map<std::string, std::map<Need, std::string>> needs;  // of a target, with an example
  std::map<std::string, std::map<std::string, int>> mnemonics;
  int instructions(const std::string& target) const {
    int sum = 0;
    for (const auto& [mnemonic, count] : mnemonics.at(target)) sum += count;
    return sum;
  }
};

const Library& library() {
  static const Library found = [] {
    Library l;
    const ProgramRun run = run_command(
        {FOVEA_TEST_OBJDUMP, "-d", "--no-show-raw-insn", "--no-leading-addr", FOVEA_TEST_ARCHIVE});
    EXPECT_EQ(run.how, "exit status 0");
    std::istringstream lines(run.output);
    std::string function, line;
    while (std::getline(lines, line)) {
      if (!line.empty() && line.back() == ':' && line[0] == '<') {
        function = line.substr(1, line.size() - 3);
      } else if (!line.empty() && (line[0] == ' ' || line[0] == '\t')) {
        const std::string target = target_of(function);
        std::string mnemonic;
        std::istringstream(line) >> mnemonic;
        ++l.mnemonics[target][mnemonic];
        for (const Need need : needs_of(mnemonic, line))
          l.needs[target].emplace(need, function + ": " + line);
      }
    }
    return l;
  }();
  return found;
}

void expect_only(const std::string& target, const std::set<Need>& allowed) {
  ASSERT_EQ(library().mnemonics.count(target), 1U) << "no function of " << target;
  EXPECT_GT(library().instructions(target), 500) << target;
  const auto needs = library().needs.find(target);
  if (needs == library().needs.end()) return;
  for (const auto& [need, example] : needs->second)
    EXPECT_TRUE(allowed.count(need) != 0) << target << " has " << example;
}

// https://github.com/ARM-software/ComputeLibrary/issues/1306: what every CPU runs, the runtime and
// the choice itself, must not have been compiled for a newer one
TEST(Opcodes, Row191NothingNewerOutsideTheKernels) {
  expect_only("baseline", {});
  expect_only("x86_sse41", {});
  expect_only("x86_avx2", {kAvx, kYmm});
  expect_only("x86_avx512", {kAvx, kYmm, kZmm, kMask});
}

// https://github.com/uxlfoundation/oneDNN/issues/5689: virtual machines that show AMX and fault
TEST(Opcodes, Row188NoTiles) {
  expect_only("x86_avx512_bf16_intel", {kAvx, kYmm, kZmm, kMask});
  expect_only("x86_avx512_bf16_amd", {kAvx, kYmm, kZmm, kMask});
}

// https://github.com/halide/Halide/issues/7306: halves that are converted bit by bit, because a
// feature was forgotten
TEST(Opcodes, Row209HalvesAreConvertedByInstructions) {
  for (const char* target : {"x86_avx2", "x86_avx512"}) {
    for (const char* mnemonic : {"vcvtph2ps", "vcvtps2ph"})
      EXPECT_GT(library().mnemonics.at(target).count(mnemonic), 0) << target << ' ' << mnemonic;
  }
}

// The test itself must see what it looks for.
TEST(Opcodes, TheWiderTargetsUseTheirVectors) {
  EXPECT_EQ(library().needs.at("x86_avx2").count(kYmm), 1U);
  EXPECT_EQ(library().needs.at("x86_avx512").count(kZmm), 1U);
  EXPECT_EQ(library().needs.at("x86_avx512").count(kMask), 1U);
}

}  // namespace
}  // namespace fovea
