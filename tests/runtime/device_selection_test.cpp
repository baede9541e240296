// device_selection_test.cpp: the choice of kernels for recorded devices, none of which is here.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "selection.h"
#include "targets.h"

namespace fovea::test {
namespace {

// One kernel for each target, in this order.
constexpr fovea_target_info targets[] = {
    {"x86-avx2", "x86", FOVEA_CPU_MASK(AVX2), 20},
    {"opencl", "opencl", 0, 100},
    {"cuda-sm70", "cuda", FOVEA_CPU_MASK(SM70), 110},
    {"cuda-sm80", "cuda", FOVEA_CPU_MASK(SM70) | FOVEA_CPU_MASK(SM80), 120},
    {"cuda-sm86", "cuda", FOVEA_CPU_MASK(SM70) | FOVEA_CPU_MASK(SM80) | FOVEA_CPU_MASK(SM86), 130},
};
constexpr fovea_variant_info variants[] = {{"causal", 1, nullptr, 0, 0, 1, 0}};
constexpr fovea_kernel_info kernel(const char* name, int32_t target) {
  return {name,    0, target, FOVEA_PREFILL, FOVEA_F32, FOVEA_CACHE_NONE, 64, 64, 32, 0, nullptr,
          nullptr, 0, 0};
}
constexpr fovea_kernel_info kernels[] = {kernel("avx2", 0), kernel("opencl", 1), kernel("sm70", 2),
                                         kernel("sm80", 3), kernel("sm86", 4)};
constexpr fovea_library_info library = {FOVEA_ABI_VERSION, "recorded", variants, 1,
                                        targets,           5,          kernels,  5};

constexpr uint64_t sm70 = FOVEA_CPU_MASK(SM70), sm80 = FOVEA_CPU_MASK(SM80),
                   sm86 = FOVEA_CPU_MASK(SM86);

detail::Capabilities machine(bool is_usable, uint64_t features, const char* text) {
  detail::Capabilities c = {"x86",
                            FOVEA_CPU_MASK(AVX2),
                            detail::CpuFamily::kUnknown,
                            detail::kAllTargetsEnabled,
                            nullptr,
                            nullptr};
  c.device.is_usable = is_usable;
  c.device.features = features;
  std::snprintf(c.device.text, sizeof(c.device.text), "%s", text);
  return c;
}

std::string chosen(fovea_device device, const detail::Capabilities& capabilities) {
  const detail::Request request = {0, FOVEA_PREFILL, FOVEA_F32, FOVEA_CACHE_NONE, 64, 64, device};
  const int32_t index = select_kernel(library, request, capabilities);
  return index == detail::kNoKernel ? "none" : kernels[index].name;
}

std::string refusal(int32_t index, fovea_device device, const detail::Capabilities& capabilities) {
  const detail::Request request = {0, FOVEA_PREFILL, FOVEA_F32, FOVEA_CACHE_NONE, 64, 64, device};
  char text[300];
  detail::Text out(text, sizeof(text));
  append_refusal(out, library, kernels[index], request, capabilities);
  return text;
}

struct Recorded {
  const char* name;
  bool is_usable;
  uint64_t features;
  const char* kernel;
};
void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.name; }

class RecordedCudaDevice : public testing::TestWithParam<Recorded> {};

TEST_P(RecordedCudaDevice, Choice) {
  const detail::Capabilities c =
      machine(GetParam().is_usable, GetParam().features, GetParam().name);
  EXPECT_EQ(chosen(FOVEA_DEVICE_CUDA, c), GetParam().kernel);
  // What is on the CPU stays there, whatever devices there are, and the other way round.
  EXPECT_EQ(chosen(FOVEA_DEVICE_CPU, c), "avx2");
  EXPECT_EQ(refusal(0, FOVEA_DEVICE_CUDA, c), "computes on device cpu, exec.device is cuda");
}

INSTANTIATE_TEST_SUITE_P(, RecordedCudaDevice,
                         testing::Values(Recorded{"no driver", false, 0, "none"},
                                         Recorded{"driver without a device", false, 0, "none"},
                                         Recorded{"sm_60", true, 0, "none"},
                                         Recorded{"sm_70", true, sm70, "sm70"},
                                         Recorded{"sm_75", true, sm70, "sm70"},
                                         Recorded{"sm_80", true, sm70 | sm80, "sm80"},
                                         Recorded{"sm_86", true, sm70 | sm80 | sm86, "sm86"},
                                         Recorded{"sm_89", true, sm70 | sm80 | sm86, "sm86"},
                                         Recorded{"sm_90", true, sm70 | sm80 | sm86, "sm86"},
                                         Recorded{"sm_120", true, sm70 | sm80 | sm86, "sm86"}));

TEST(DeviceSelection, ReasonsOfRefusals) {
  const detail::Capabilities none = machine(false, 0, "no driver: libcuda.so.1 is not there");
  EXPECT_EQ(refusal(3, FOVEA_DEVICE_CUDA, none), "no driver: libcuda.so.1 is not there");
  EXPECT_EQ(refusal(3, FOVEA_DEVICE_CPU, none), "computes on device cuda, exec.device is cpu");
  const detail::Capabilities turing = machine(true, sm70, "T4, sm_75");
  EXPECT_EQ(refusal(4, FOVEA_DEVICE_CUDA, turing), "the device (T4, sm_75) lacks sm_80, sm_86");
}

TEST(DeviceSelection, ForcedAndDisabledTargets) {
  detail::Capabilities c = machine(true, sm70 | sm80 | sm86, "sm_86");
  c.forced_target = "cuda-sm70";
  c.forced_by = "exec.target";
  EXPECT_EQ(chosen(FOVEA_DEVICE_CUDA, c), "sm70");
  c.forced_target = nullptr;
  const int row = detail::known_target("cuda-sm80", 9);
  ASSERT_GE(row, 0);
  c.enabled_targets = UINT64_C(1) << row;
  EXPECT_EQ(chosen(FOVEA_DEVICE_CUDA, c), "sm80");
  EXPECT_EQ(chosen(FOVEA_DEVICE_OPENCL, c), "none");
}

TEST(DeviceSelection, OpenClTakesAnyDevice) {
  EXPECT_EQ(chosen(FOVEA_DEVICE_OPENCL, machine(true, 0, "a CPU")), "opencl");
  EXPECT_EQ(chosen(FOVEA_DEVICE_OPENCL, machine(false, 0, "no driver has a device")), "none");
}

}  // namespace
}  // namespace fovea::test
