// CPU families, and the targets that are preferred on each. SPDX-License-Identifier: Apache-2.0
#include "cpu_family.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <tuple>

#include "every_target.h"
#include "explain.h"
#include "preference.h"
#include "targets.h"
#include "tests/support/explanation.h"

namespace fovea::test {
namespace {

using detail::CpuFamily;
using detail::X86Leaves;

struct Cpu {
  const char* name;
  const char* vendor;
  uint32_t signature;  // CPUID(1).eax
  X86Leaves leaves;
  CpuFamily family;
  const char *f32, *f16, *bf16;  // targets chosen
};

void PrintTo(const Cpu& cpu, std::ostream* out) { *out << cpu.name; }

constexpr X86Leaves kZen4 = {16,    0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff,
                             0x2e7, 0x00405fce, 0x10000010, 0x20};
// Zen 4 with AVX-VNNI.
constexpr X86Leaves kZen5 = {16,    0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff,
                             0x2e7, 0x00405fce, 0x10000010, 0x30};
constexpr X86Leaves kSapphireRapids = {32,      0x7ffefbff, 0xf3bfbffb, 0x80000008, 0x121,
                                       0x602e7, 0xfb417ffe, 0xffdd4432, 0x1c30};
// AMX hidden, as by many hypervisors: registers (XCR0 bits 17 and 18) and feature bits.
constexpr X86Leaves kWithoutAmx = {32,    0x7ffefbff, 0xf3bfbffb, 0x80000008, 0x121,
                                   0x2e7, 0xfb417ffe, 0xfc9d4432, 0x1c30};
// Skylake-X with AVX512-VNNI and AVX512-BF16.
constexpr X86Leaves kCooperLake = {22,    0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121,
                                   0x2ff, 0x00000818, 0xbc000400, 0x20};

const char* const kAvx512 = "x86-avx512";
const char* const kAmd = "x86-avx512-bf16-amd";
const char* const kIntel = "x86-avx512-bf16-intel";

const Cpu kCpus[] = {
    {"zen_4_server", "AuthenticAMD", 0x00a10f11, kZen4, CpuFamily::kAMD_ZEN4, kAvx512, kAvx512,
     kAmd},
    {"zen_4_desktop", "AuthenticAMD", 0x00a60f12, kZen4, CpuFamily::kAMD_ZEN4, kAvx512, kAvx512,
     kAmd},
    {"zen_5_server", "AuthenticAMD", 0x00b00f21, kZen5, CpuFamily::kAMD_ZEN5, kAvx512, kAvx512,
     kAmd},
    // The same family number, models of no family here.
    {"zen_3", "AuthenticAMD", 0x00a00f11, {}, CpuFamily::kUnknown, "none", "none", "none"},
    {"an_amd_cpu_to_come", "AuthenticAMD", 0x00c00f10, kZen5, CpuFamily::kUnknown, kAvx512, kAvx512,
     kAmd},
    {"sapphire_rapids", "GenuineIntel", 0x000806f8, kSapphireRapids,
     CpuFamily::kINTEL_SAPPHIRE_RAPIDS, kAvx512, kAvx512, kAvx512},
    {"emerald_rapids", "GenuineIntel", 0x000c06f2, kSapphireRapids,
     CpuFamily::kINTEL_EMERALD_RAPIDS, kAvx512, kAvx512, kAvx512},
    {"emerald_rapids_without_amx", "GenuineIntel", 0x000c06f2, kWithoutAmx,
     CpuFamily::kINTEL_EMERALD_RAPIDS, kAvx512, kAvx512, kAvx512},
    {"granite_rapids", "GenuineIntel", 0x000a06d1, kSapphireRapids,
     CpuFamily::kINTEL_GRANITE_RAPIDS, kAvx512, kAvx512, kIntel},
    {"sapphire_rapids_as_another_model", "GenuineIntel", 0x000a0678, kSapphireRapids,
     CpuFamily::kINTEL_OTHER, kAvx512, kAvx512, kAvx512},
    {"an_intel_cpu_to_come", "GenuineIntel", 0x00400f10, kSapphireRapids, CpuFamily::kUnknown,
     kAvx512, kAvx512, kIntel},
    // Has bf16, but not all that the compiler may emit for the targets of other CPUs.
    {"cooper_lake", "GenuineIntel", 0x0005065b, kCooperLake, CpuFamily::kINTEL_OTHER, kAvx512,
     kAvx512, kAvx512},
    // Models of one vendor say nothing about another.
    {"another_vendor", "GenuineIntel", 0x00a10f11, kSapphireRapids, CpuFamily::kUnknown, kAvx512,
     kAvx512, kIntel},
    {"no_vendor", "", 0x00a10f11, kZen4, CpuFamily::kUnknown, kAvx512, kAvx512, kAmd},
    {"no_leaves", "AuthenticAMD", 0x00a10f11, {}, CpuFamily::kUnknown, "none", "none", "none"},
};

X86Leaves leaves_of(const Cpu& cpu) {
  X86Leaves leaves = cpu.leaves;
  leaves.leaf1_eax = cpu.signature;
  std::memcpy(leaves.vendor, cpu.vendor, std::strlen(cpu.vendor));
  return leaves;
}

detail::Capabilities capabilities_of(const Cpu& cpu) {
  return {"x86",
          x86_features(cpu.leaves),
          x86_family(leaves_of(cpu)),
          detail::kAllTargetsEnabled,
          nullptr,
          nullptr};
}

class CpuFamilies : public testing::TestWithParam<Cpu> {};
INSTANTIATE_TEST_SUITE_P(Cpus, CpuFamilies, testing::ValuesIn(kCpus),
                         [](const auto& cpu) { return std::string(cpu.param.name); });

TEST_P(CpuFamilies, IsRecognised) {
  const CpuFamily family = x86_family(leaves_of(GetParam()));
  EXPECT_STREQ(cpu_family_name(family), cpu_family_name(GetParam().family));
}

TEST_P(CpuFamilies, TargetOfEachType) {
  const EveryTarget every;
  const auto chosen = [&](fovea_dtype dtype) -> std::string {
    const int32_t index = every.choose(dtype, capabilities_of(GetParam()));
    return index < 0 ? "none" : every.library.kernels[index].name;
  };
  EXPECT_EQ(chosen(FOVEA_F32), GetParam().f32);
  EXPECT_EQ(chosen(FOVEA_F16), GetParam().f16);
  EXPECT_EQ(chosen(FOVEA_BF16), GetParam().bf16);
}

const Cpu& cpu_named(const std::string& name) {
  for (const Cpu& cpu : kCpus) {
    if (cpu.name == name) return cpu;
  }
  ADD_FAILURE() << name;
  return kCpus[0];
}

// Whatever the preference: what is forced or enabled decides.
TEST(CpuFamilyPreference, OverridesComeFirst) {
  const EveryTarget every;
  const auto name_of = [&](const detail::Capabilities& capabilities) -> std::string {
    const int32_t index = every.choose(FOVEA_BF16, capabilities);
    return index < 0 ? "none" : every.library.kernels[index].name;
  };
  detail::Capabilities emerald = capabilities_of(cpu_named("emerald_rapids"));
  emerald.forced_target = kIntel;
  EXPECT_EQ(name_of(emerald), kIntel);
  emerald.forced_target = kAmd;
  EXPECT_EQ(name_of(emerald), "none");
  emerald.forced_target = nullptr;
  emerald.enabled_targets = UINT64_C(1) << detail::known_target(kIntel, std::strlen(kIntel));
  EXPECT_EQ(name_of(emerald), kIntel);
  detail::Capabilities zen = capabilities_of(cpu_named("zen_4_server"));
  zen.forced_target = "x86-avx2";
  EXPECT_EQ(name_of(zen), "x86-avx2");
}

// Lines of explain for a bf16 call of head dims 64, but for the first.
std::string explanation(const EveryTarget& every, const detail::Capabilities& capabilities) {
  uint16_t data[4 * 64] = {};
  fovea_call call = {};
  call.size = sizeof(call);
  fovea_tensor* tensors[] = {&call.q, &call.k, &call.v, &call.out};
  for (int i = 0; i < 4; ++i)
    *tensors[i] = {data + i * 64, FOVEA_BF16, {1, 1, 1, 64}, {64, 64, 64, 1}};
  char buffer[4096];
  detail::Text text(buffer, sizeof(buffer));
  EXPECT_EQ(detail::explain(&every.library, 0, &call, capabilities, 1, &text), FOVEA_OK);
  return buffer;
}

TEST(CpuFamilyPreference, ExplainGivesTheReason) {
  const EveryTarget every;
  const std::string emerald = explanation(every, capabilities_of(cpu_named("emerald_rapids")));
  EXPECT_NE(emerald.find("chosen: x86-avx512 (x86-avx512 is the usable target with the largest "
                         "preference, 30; "),
            std::string::npos)
      << emerald;
  EXPECT_EQ(answer_about(emerald, "x86-avx512-bf16-intel"),
            "usable, but x86-avx512 has the larger preference, x86-avx512-bf16-intel has 25 "
            "instead of 40 on intel-emerald-rapids: vdpbf16ps runs at half the rate of f32 FMA "
            "here");
  EXPECT_EQ(answer_about(emerald, "x86-avx512-bf16-amd"), "refused, CPU lacks sse4a");

  const std::string zen = explanation(every, capabilities_of(cpu_named("zen_4_server")));
  EXPECT_EQ(zen.rfind("chosen: x86-avx512-bf16-amd (x86-avx512-bf16-amd is the usable target with "
                      "the largest preference, 50; ",
                      0),
            0U)
      << zen;
  EXPECT_NE(zen.find("\nusable, but x86-avx512-bf16-amd has the larger preference:\n"
                     "  x86-sse41\n  x86-avx2\n  x86-avx512\n"),
            std::string::npos)
      << zen;
  EXPECT_EQ(answer_about(zen, "x86-avx512-bf16-intel"), "refused, CPU lacks avx512fp16, avxvnni");

  // Also where the exception is chosen all the same.
  detail::Capabilities only = capabilities_of(cpu_named("emerald_rapids"));
  only.enabled_targets = UINT64_C(1) << detail::known_target(kIntel, std::strlen(kIntel));
  const std::string text = explanation(every, only);
  EXPECT_EQ(text.rfind("chosen: x86-avx512-bf16-intel (x86-avx512-bf16-intel is the usable target "
                       "with the largest preference, 25, x86-avx512-bf16-intel has 25 instead of "
                       "40 on intel-emerald-rapids: ",
                       0),
            0U)
      << text;
}

// The rows of target_preferences.def.
TEST(CpuFamilyPreference, ExceptionsAreUniqueAndSayWhy) {
  std::set<std::tuple<std::string, int, std::string>> keys;
  int rows = 0;
#define FOVEA_TARGET_PREFERENCE(symbol, dtype, family, preference, reason)              \
  ++rows;                                                                               \
  keys.insert({#symbol, FOVEA_##dtype, cpu_family_name(detail::CpuFamily::k##family)}); \
  EXPECT_GT(std::strlen(reason), 20U) << #symbol;
#include <fovea/target_preferences.def>
#undef FOVEA_TARGET_PREFERENCE
  EXPECT_EQ(keys.size(), static_cast<size_t>(rows));
  EXPECT_GE(rows, 1);
}

// An exception is of one type: a kernel of another keeps the preference of its target.
TEST(CpuFamilyPreference, IsOfOneType) {
  const fovea_target_info intel = {kIntel, "x86", 0, 40};
  const auto family = CpuFamily::kINTEL_EMERALD_RAPIDS;
  EXPECT_EQ(detail::preference_of(intel, FOVEA_BF16, family).value, 25);
  EXPECT_EQ(detail::preference_of(intel, FOVEA_F32, family).value, 40);
  EXPECT_EQ(detail::preference_of(intel, FOVEA_F32, family).reason, nullptr);
  EXPECT_EQ(detail::preference_of(intel, FOVEA_BF16, CpuFamily::kAMD_ZEN4).value, 40);
  const fovea_target_info unknown = {"x86-avx3", "x86", 0, 7};
  EXPECT_EQ(detail::preference_of(unknown, FOVEA_BF16, family).value, 7);
}

TEST(CpuFamilyNames, AreUnique) {
  std::set<std::string> names = {"unknown"};
  size_t count = 1;
#define FOVEA_CPU_FAMILY(enumerator, name) \
  names.insert(name);                      \
  ++count;
#include <fovea/cpu_families.def>
  EXPECT_EQ(names.size(), count);
}

}  // namespace
}  // namespace fovea::test
