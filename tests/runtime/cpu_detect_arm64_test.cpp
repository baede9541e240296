// CPU detection on Arm and the choice of a target, from AT_HWCAP and AT_HWCAP2 as Linux gives them.
// The words are those of the features that /proc/cpuinfo lists on such a machine.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "cpu_detect.h"
#include "every_target.h"
#include "targets.h"

namespace fovea::test {
namespace {

using detail::arm64_features;
using detail::Arm64Words;

std::string choice(uint64_t features, fovea_dtype dtype) {
  const EveryTarget every;
  const int32_t index = every.choose(dtype, {"arm64", features, detail::CpuFamily::kUnknown,
                                             detail::kAllTargetsEnabled, nullptr, nullptr});
  return index < 0 ? "none" : every.library.kernels[index].name;
}

std::string names(uint64_t features) {
  char text[512];
  detail::Text out(text, sizeof(text));
  append_feature_names(out, features, ",");
  return text;
}

struct Chip {
  const char* name;
  Arm64Words words;
  const char* features;
  const char* f16_target;  // f32 and bf16 have one target
};

void PrintTo(const Chip& chip, std::ostream* out) { *out << chip.name; }

const Chip kChips[] = {
    {"cortex_a53", {0x000008ff, 0}, "asimd", "arm64-neon"},
    {"cortex_a72_without_crypto", {0x00000887, 0}, "asimd", "arm64-neon"},
    {"cortex_a76", {0x00119fff, 0}, "asimd,fphp,asimdhp,asimddp", "arm64-neon-fp16"},
    {"neoverse_n1", {0x10119fff, 0}, "asimd,fphp,asimdhp,asimddp", "arm64-neon-fp16"},
    {"neoverse_v1",
     {0xdfffffff, 0x0001f201},
     "asimd,fphp,asimdhp,asimddp,sve,i8mm,bf16",
     "arm64-neon-fp16"},
    {"neoverse_v2",
     {0xfff3ffff, 0x0003f3bf},
     "asimd,fphp,asimdhp,asimddp,sve,sve2,i8mm,bf16",
     "arm64-neon-fp16"},
    {"apple_m1", {0xffb3ffff, 0x00000181}, "asimd,fphp,asimdhp,asimddp", "arm64-neon-fp16"},

    // Half precision in the scalar unit, or in the vectors, alone is not what kernels need.
    {"fphp_without_asimdhp", {0x000002ff, 0}, "asimd,fphp", "arm64-neon"},
    {"asimdhp_without_fphp", {0x000004ff, 0}, "asimd,asimdhp", "arm64-neon"},
    // A kernel built without the vectors.
    {"no_asimd", {0x000008fd, 0}, "", "none"},
    {"all_bits",
     {~UINT64_C(0), ~UINT64_C(0)},
     "asimd,fphp,asimdhp,asimddp,sve,sve2,i8mm,bf16",
     "arm64-neon-fp16"},
};

class Arm64Detect : public testing::TestWithParam<Chip> {};

TEST_P(Arm64Detect, FeaturesAndChoice) {
  const Chip& chip = GetParam();
  const uint64_t features = arm64_features(chip.words);
  EXPECT_EQ(names(features), chip.features);
  const bool has_vectors = (features & FOVEA_CPU_MASK(ASIMD)) != 0;
  EXPECT_EQ(choice(features, FOVEA_F32), has_vectors ? "arm64-neon" : "none");
  EXPECT_EQ(choice(features, FOVEA_BF16), has_vectors ? "arm64-neon" : "none");
  EXPECT_EQ(choice(features, FOVEA_F16), chip.f16_target);
}

INSTANTIATE_TEST_SUITE_P(Chips, Arm64Detect, testing::ValuesIn(kChips),
                         [](const auto& chip) { return std::string(chip.param.name); });

// I8MM and BF16 stand in the second word, SVE in the first; the same bits of the other word are
// JSCVT, FCMA and MTE3.
TEST(Bank, Row190WordsAndBitsOfArmFeatures) {
  EXPECT_EQ(names(arm64_features({0x00006000, 0})), "");
  EXPECT_EQ(names(arm64_features({0, 0x00006000})), "i8mm,bf16");
  EXPECT_EQ(names(arm64_features({0x00400000, 0})), "sve");
  EXPECT_EQ(names(arm64_features({0, 0x00400000})), "");
  // Each bit alone, in the word that it belongs to.
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t word = UINT64_C(1) << bit;
    const bool first = bit == 1 || bit == 9 || bit == 10 || bit == 20 || bit == 22;
    EXPECT_EQ(arm64_features({word, 0}) != 0, first) << bit;
    // SVE2 needs SVE.
    EXPECT_EQ(arm64_features({0, word}) != 0, bit == 13 || bit == 14) << bit;
  }
}

// A chip with SME alone on a kernel that reports SVE2 without SVE.
TEST(Bank, Row193Sve2WithoutSve) {
  const uint64_t features = arm64_features({0xffb3ffff, 0x00006183 | (1U << 23)});
  EXPECT_EQ(names(features), "asimd,fphp,asimdhp,asimddp,i8mm,bf16");
  EXPECT_EQ(choice(features, FOVEA_F32), "arm64-neon");
  EXPECT_EQ(choice(features, FOVEA_F16), "arm64-neon-fp16");
}

// Feature bits of all architectures share one word: none may make another's kernels usable.
TEST(Arm64Choice, IsOfTheArchitecture) {
  const EveryTarget every;
  const auto chosen_on = [&](const char* architecture) {
    const int32_t index =
        every.choose(FOVEA_F16, {architecture, ~UINT64_C(0), detail::CpuFamily::kUnknown,
                                 detail::kAllTargetsEnabled, nullptr, nullptr});
    return index < 0 ? "none" : every.library.kernels[index].name;
  };
  EXPECT_STREQ(chosen_on("arm64"), "arm64-neon-fp16");
  EXPECT_STREQ(chosen_on("x86"), "x86-avx512");
  EXPECT_STREQ(chosen_on("unknown"), "none");
}

TEST(Arm64Features, AgreeWithTheKernelsList) {
#if defined(__aarch64__) && defined(__linux__)
  const std::string mine = "," + names(detail::cpu_features()) + ",";
  EXPECT_NE(mine.find(",asimd,"), std::string::npos) << mine;
  EXPECT_STREQ(detail::cpu_architecture(), "arm64");
  // Under an emulator the file may be the host's.
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("Features", 0) != 0) {
  }
  if (line.empty()) GTEST_SKIP() << "no Arm features in /proc/cpuinfo";
  for (const char* feature : {"asimd", "fphp", "asimdhp", "asimddp", "sve", "i8mm", "bf16"}) {
    EXPECT_EQ(mine.find("," + std::string(feature) + ",") != std::string::npos,
              (line + " ").find(" " + std::string(feature) + " ") != std::string::npos)
        << feature;
  }
#else
  GTEST_SKIP() << "Arm and Linux only";
#endif
}

}  // namespace
}  // namespace fovea::test
