// CPU detection and the choice of a target, from CPUID and XCR0 words as CPUs and hypervisors
// report them. SPDX-License-Identifier: Apache-2.0
#include "cpu_detect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "selection.h"
#include "targets.h"

namespace fovea::test {
namespace {

using detail::X86Leaves;

const fovea_target_info kTargets[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, needed) \
  {name, architecture, needed, preference},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
};

// The target that a library with all of them would choose.
std::string choice(uint64_t features) {
  const fovea_variant_info variant = {"v", 0, nullptr, 0, 0, 1};
  fovea_kernel_info kernels[std::size(kTargets)];
  for (size_t i = 0; i < std::size(kTargets); ++i) {
    kernels[i] = {
        kTargets[i].name, 0, static_cast<int32_t>(i), FOVEA_PREFILL, FOVEA_F32, 64, 64, 8, 0,
        nullptr};
  }
  const auto count = static_cast<int32_t>(std::size(kTargets));
  const fovea_library_info library = {FOVEA_ABI_VERSION, "l",   &variant, 1,
                                      kTargets,          count, kernels,  count};
  const detail::Capabilities capabilities = {"x86", features, detail::kAllTargetsEnabled, nullptr,
                                             nullptr};
  const int32_t index = select_kernel(library, {0, FOVEA_PREFILL, FOVEA_F32, 64, 64}, capabilities);
  return index < 0 ? "none" : kernels[index].name;
}

std::string names(uint64_t features) {
  char text[512];
  detail::Text out(text, sizeof(text));
  append_feature_names(out, features, ",");
  return text;
}

struct Cpu {
  const char* name;
  X86Leaves leaves;
  const char* features;
  const char* target;
};

void PrintTo(const Cpu& cpu, std::ostream* out) { *out << cpu.name; }

constexpr const char* kHaswell = "sse41,avx,f16c,fma,avx2,bmi1,bmi2,lzcnt,movbe,popcnt";
constexpr const char* kSkylakeX =
    "sse41,avx,f16c,fma,avx2,avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,movbe,"
    "popcnt";

const Cpu kCpus[] = {
    {"core2", {10, 0x0000e3bd, 0, 0x80000008, 0x1, 0}, "", "none"},
    {"nehalem", {11, 0x0098e3bd, 0, 0x80000008, 0x1, 0}, "sse41,popcnt", "x86-sse41"},
    {"sandy_bridge", {13, 0x1fbae3ff, 0, 0x80000008, 0x1, 0x7}, "sse41,avx,popcnt", "x86-sse41"},
    {"haswell", {13, 0x7ffafbff, 0x000027ab, 0x80000008, 0x21, 0x7}, kHaswell, "x86-avx2"},
    {"skylake_x", {22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0x2ff}, kSkylakeX, "x86-avx512"},
    {"ice_lake", {27, 0x7ffafbff, 0xf2bf27ef, 0x80000008, 0x121, 0x2e7}, kSkylakeX, "x86-avx512"},
    {"sapphire_rapids",
     {32, 0x7ffefbff, 0xf3bfbffb, 0x80000008, 0x121, 0x602e7},
     kSkylakeX,
     "x86-avx512"},
    {"zen_2", {16, 0x7ef8320b, 0x219c91a9, 0x80000020, 0x75c237ff, 0x207}, kHaswell, "x86-avx2"},
    {"zen_4", {16, 0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff, 0x2e7}, kSkylakeX, "x86-avx512"},

    // Hypervisors that hide or half-enable.
    {"osxsave_off",
     {22, 0x77fefbff, 0xd39ffffb, 0x80000008, 0x121, 0},
     "sse41,bmi1,bmi2,lzcnt,movbe,popcnt",
     "x86-sse41"},
    {"xcr0_without_ymm",
     {13, 0x7ffafbff, 0x000027ab, 0x80000008, 0x21, 0x3},
     "sse41,bmi1,bmi2,lzcnt,movbe,popcnt",
     "x86-sse41"},
    {"xcr0_without_zmm",
     {22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0x7},
     kHaswell,
     "x86-avx2"},
    {"xcr0_without_opmask",
     {22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0xc7},
     kHaswell,
     "x86-avx2"},
    {"xcr0_without_upper_zmm",
     {22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0x67},
     kHaswell,
     "x86-avx2"},
    {"avx512_hidden", {22, 0x7ffefbff, 0x009c27ab, 0x80000008, 0x121, 0xe7}, kHaswell, "x86-avx2"},
    {"leaf_7_out_of_range",
     {6, 0x7ffafbff, 0xffffffff, 0x80000008, 0x21, 0xe7},
     "sse41,avx,f16c,fma,lzcnt,movbe,popcnt",
     "x86-sse41"},
    {"lzcnt_hidden",
     {13, 0x7ffafbff, 0x000027ab, 0x80000008, 0x1, 0x7},
     "sse41,avx,f16c,fma,avx2,bmi1,bmi2,movbe,popcnt",
     "x86-sse41"},
    {"extended_leaf_out_of_range",
     {13, 0x7ffafbff, 0x000027ab, 0x80000000, 0x21, 0x7},
     "sse41,avx,f16c,fma,avx2,bmi1,bmi2,movbe,popcnt",
     "x86-sse41"},
    {"avx2_without_avx",
     {13, 0x6ffafbff, 0x000027ab, 0x80000008, 0x21, 0x7},
     "sse41,bmi1,bmi2,lzcnt,movbe,popcnt",
     "x86-sse41"},
    {"no_leaves", {0, 0xffffffff, 0xffffffff, 0, 0xffffffff, 0xff}, "", "none"},
};

class CpuDetect : public testing::TestWithParam<Cpu> {};

TEST_P(CpuDetect, FeaturesAndChoice) {
  const uint64_t features = x86_features(GetParam().leaves);
  EXPECT_EQ(names(features), GetParam().features);
  EXPECT_EQ(choice(features), GetParam().target);
}

INSTANTIATE_TEST_SUITE_P(Cpus, CpuDetect, testing::ValuesIn(kCpus),
                         [](const auto& cpu) { return std::string(cpu.param.name); });

TEST(CpuFeatures, AgreeWithTheKernelsList) {
#if defined(__x86_64__) && defined(__linux__)
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && line.rfind("flags", 0) != 0) {
  }
  if (line.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto known = [&](const std::string& flag) {
    return (line + " ").find(" " + flag + " ") != std::string::npos;
  };
  const std::string mine = "," + names(detail::cpu_features()) + ",";
  const std::pair<const char*, const char*> flags[] = {
      {"sse41", "sse4_1"},      {"avx", "avx"},           {"f16c", "f16c"},
      {"fma", "fma"},           {"avx2", "avx2"},         {"avx512f", "avx512f"},
      {"avx512cd", "avx512cd"}, {"avx512bw", "avx512bw"}, {"avx512dq", "avx512dq"},
      {"avx512vl", "avx512vl"}, {"bmi1", "bmi1"},         {"bmi2", "bmi2"},
      {"lzcnt", "abm"},         {"movbe", "movbe"},       {"popcnt", "popcnt"}};
  for (const auto& [feature, flag] : flags) {
    EXPECT_EQ(mine.find("," + std::string(feature) + ",") != std::string::npos, known(flag))
        << feature;
  }
#else
  GTEST_SKIP() << "x86 and Linux only";
#endif
}

TEST(CpuFeatures, TextIsCutLikeSnprintf) {
  char all[512];
  const size_t length = fovea_cpu_features(all, sizeof(all));
  EXPECT_EQ(length, std::strlen(all));
  EXPECT_EQ(fovea_cpu_features(nullptr, 0), length);
  char some[4] = {'x', 'x', 'x', 'x'};
  EXPECT_EQ(fovea_cpu_features(some, sizeof(some)), length);
  EXPECT_EQ(std::string(some), std::string(all).substr(0, 3));
}

}  // namespace
}  // namespace fovea::test
