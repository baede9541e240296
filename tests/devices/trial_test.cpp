// trial_test.cpp: device kernels against their declarations, in calls of few numbers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/kernel_trial.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/devices/opencl_kernels.h"

namespace fovea::test {
namespace {

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
  exec.pass = c.info().pass == FOVEA_DECODE ? "decode" : "prefill";
  const auto run = [&](const fovea_call* call, const void* params) -> std::string {
    const fovea_status status = fovea_variant_run(c.library, c.info().variant, call, params);
    return status == FOVEA_OK ? "" : fovea_last_message();
  };
  // Prefill: one block and less, several blocks, tails on both sides, one row. Decode: one chunk of
  // keys and several, one tile of rows and several, no keys.
  using Sizes = std::vector<std::pair<int, int>>;
  const Sizes sizes = c.info().pass == FOVEA_DECODE
                          ? Sizes{{1, 40}, {1, 700}, {3, 513}, {9, 256}, {20, 20}, {2, 0}}
                          : Sizes{{20, 20}, {70, 133}, {1, 40}, {96, 64}};
  for (const auto& [rows, keys] : sizes) {
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
                           return std::string(tested.param.info().name).substr(6);
                         });

}  // namespace
}  // namespace fovea::test
