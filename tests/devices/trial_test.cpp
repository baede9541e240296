// trial_test.cpp: device kernels against their declarations, in calls of few numbers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/kernel_trial.h>
#include <fovea/dsl/register.h>
#include <fovea/registry.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fovea_device_half.h"
#include "fovea_device_kinds.h"
#include "runtime/src/gpu/device.h"

namespace fovea::test {
namespace {

struct Case {
  const fovea_library_info* library;
  int32_t kernel;

  const fovea_kernel_info& info() const { return library->kernels[kernel]; }
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.info().name; }

std::vector<Case> device_kernels() {
  std::vector<Case> cases;
  for (const fovea_library_info* library :
       {fovea_device_kinds_library(), fovea_device_half_library()}) {
    for (int32_t i = 0; i < library->kernel_count; ++i) {
      const fovea_target_info& target = library->targets[library->kernels[i].target];
      if (detail::device_of(target.architecture) == FOVEA_DEVICE_OPENCL)
        cases.push_back({library, i});
    }
  }
  return cases;
}

const Variant& declaration_of(const Case& c) {
  static const std::vector<Variant> declared = declared_variants();
  const std::string name = c.library->variants[c.info().variant].name;
  for (const Variant& v : declared) {
    if (v.name() == name) return v;
  }
  throw std::logic_error("the test program lacks the declaration of " + name);
}

class DeviceTrial : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    detail::DeviceFacts facts;
    detail::opencl_driver().describe(nullptr, nullptr, &facts);
    if (!facts.is_usable) GTEST_SKIP() << facts.text;
  }
};

TEST_P(DeviceTrial, AgreesWithItsDeclaration) {
  const Case& c = GetParam();
  fovea_exec exec = {};
  exec.size = sizeof(exec);
  exec.device = FOVEA_DEVICE_OPENCL;
  exec.host_tensors = 1;
  const auto run = [&](const fovea_call* call, const void* params) -> std::string {
    const fovea_status status = fovea_variant_run(c.library, c.info().variant, call, params);
    return status == FOVEA_OK ? "" : fovea_last_message();
  };
  // One block and less, several blocks, tails on both sides, one row.
  for (const auto& [rows, keys] : {std::pair{20, 20}, {70, 133}, {1, 40}, {96, 64}}) {
    const ExampleShape shape = {.batch = 2,
                                .heads = 4,
                                .kv_heads = 2,
                                .q_len = rows,
                                .kv_len = keys,
                                .d_qk = c.info().d_qk,
                                .d_v = c.info().d_v};
    KernelTrial trial(declaration_of(c), shape, run, c.info().dtype);
    trial.call().exec = &exec;
    const KernelTrial::Report report = trial.check();
    EXPECT_TRUE(report.passed) << rows << " rows, " << keys << " keys: " << report.text;
  }
}

INSTANTIATE_TEST_SUITE_P(, DeviceTrial, testing::ValuesIn(device_kernels()),
                         [](const testing::TestParamInfo<Case>& tested) {
                           return std::string(tested.param.info().name).substr(15);
                         });

}  // namespace
}  // namespace fovea::test
