// CPU detection and the choice of a target, from CPUID and XCR0 words as CPUs and hypervisors
// report them. SPDX-License-Identifier: Apache-2.0
#include "cpu_detect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "every_target.h"
#include "targets.h"

namespace fovea::test {
namespace {

using detail::X86Leaves;

// The target that a library with kernels for all of them would choose.
std::string choice(uint64_t features) {
  const EveryTarget every;
  const int32_t index = every.choose(FOVEA_F32, {"x86", features, detail::CpuFamily::kUnknown,
                                                 detail::kAllTargetsEnabled, nullptr, nullptr});
  return index < 0 ? "none" : every.library.kernels[index].name;
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
constexpr const char* kZen2 = "sse41,avx,f16c,fma,avx2,bmi1,bmi2,lzcnt,movbe,popcnt,sse4a";
constexpr const char* kIceLake =
    "sse41,avx,f16c,fma,avx2,avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,movbe,"
    "popcnt,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni,avx512bitalg,avx512vpopcntdq,gfni,vaes,"
    "vpclmulqdq";
constexpr const char* kSapphireRapids =
    "sse41,avx,f16c,fma,avx2,avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,movbe,"
    "popcnt,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni,avx512bitalg,avx512vpopcntdq,avx512bf16,"
    "avx512fp16,avxvnni,gfni,vaes,vpclmulqdq";
constexpr const char* kZen4 =
    "sse41,avx,f16c,fma,avx2,avx512f,avx512cd,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,movbe,"
    "popcnt,avx512ifma,avx512vbmi,avx512vbmi2,avx512vnni,avx512bitalg,avx512vpopcntdq,avx512bf16,"
    "gfni,vaes,vpclmulqdq,sse4a";

const Cpu kCpus[] = {
    {"core2", {10, 0x0000e3bd, 0, 0x80000008, 0x1, 0}, "", "none"},
    {"nehalem", {11, 0x0098e3bd, 0, 0x80000008, 0x1, 0}, "sse41,popcnt", "x86-sse41"},
    {"sandy_bridge", {13, 0x1fbae3ff, 0, 0x80000008, 0x1, 0x7}, "sse41,avx,popcnt", "x86-sse41"},
    {"haswell", {13, 0x7ffafbff, 0x000027ab, 0x80000008, 0x21, 0x7}, kHaswell, "x86-avx2"},
    {"skylake_x", {22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0x2ff}, kSkylakeX, "x86-avx512"},
    {"ice_lake",
     {27, 0x7ffafbff, 0xf2bf27ef, 0x80000008, 0x121, 0x2e7, 0x40405f5e},
     kIceLake,
     "x86-avx512"},
    {"sapphire_rapids",
     {32, 0x7ffefbff, 0xf3bfbffb, 0x80000008, 0x121, 0x602e7, 0xfb417ffe, 0xffdd4432, 0x1c30},
     kSapphireRapids,
     "x86-avx512"},
    {"zen_2", {16, 0x7ef8320b, 0x219c91a9, 0x80000020, 0x75c237ff, 0x207}, kZen2, "x86-avx2"},
    {"zen_3",
     {16, 0x7ef8320b, 0x219c97a9, 0x80000023, 0x75c237ff, 0x207, 0x0040069c, 0x10},
     "sse41,avx,f16c,fma,avx2,bmi1,bmi2,lzcnt,movbe,popcnt,vaes,vpclmulqdq,sse4a",
     "x86-avx2"},
    {"zen_4",
     {16, 0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff, 0x2e7, 0x00405fce, 0x10000010, 0x20},
     kZen4,
     "x86-avx512"},

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
     {6, 0x7ffafbff, 0xffffffff, 0x80000008, 0x21, 0xe7, 0xffffffff, 0xffffffff, 0xffffffff},
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
    // Bits of vector instructions whose registers the operating system does not save.
    {"zen_4_without_zmm",
     {16, 0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff, 0x7, 0x00405fce, 0x10000010, 0x20},
     "sse41,avx,f16c,fma,avx2,bmi1,bmi2,lzcnt,movbe,popcnt,gfni,vaes,vpclmulqdq,sse4a",
     "x86-avx2"},
    {"sapphire_rapids_without_ymm",
     {32, 0x7ffefbff, 0xf3bfbffb, 0x80000008, 0x121, 0x3, 0xfb417ffe, 0xffdd4432, 0x1c30},
     "sse41,bmi1,bmi2,lzcnt,movbe,popcnt,gfni",
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
  const std::pair<const char*, const char*> flags[] = {{"sse41", "sse4_1"},
                                                       {"avx", "avx"},
                                                       {"f16c", "f16c"},
                                                       {"fma", "fma"},
                                                       {"avx2", "avx2"},
                                                       {"avx512f", "avx512f"},
                                                       {"avx512cd", "avx512cd"},
                                                       {"avx512bw", "avx512bw"},
                                                       {"avx512dq", "avx512dq"},
                                                       {"avx512vl", "avx512vl"},
                                                       {"bmi1", "bmi1"},
                                                       {"bmi2", "bmi2"},
                                                       {"lzcnt", "abm"},
                                                       {"movbe", "movbe"},
                                                       {"popcnt", "popcnt"},
                                                       {"avx512ifma", "avx512ifma"},
                                                       {"avx512vbmi", "avx512vbmi"},
                                                       {"avx512vbmi2", "avx512_vbmi2"},
                                                       {"avx512vnni", "avx512_vnni"},
                                                       {"avx512bitalg", "avx512_bitalg"},
                                                       {"avx512vpopcntdq", "avx512_vpopcntdq"},
                                                       {"avx512bf16", "avx512_bf16"},
                                                       {"avx512fp16", "avx512_fp16"},
                                                       {"avxvnni", "avx_vnni"},
                                                       {"gfni", "gfni"},
                                                       {"vaes", "vaes"},
                                                       {"vpclmulqdq", "vpclmulqdq"},
                                                       {"sse4a", "sse4a"}};
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
