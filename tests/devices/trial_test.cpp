// trial_test.cpp: device kernels against their declarations, in calls of few numbers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/devices/device_trial.h"

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
  // Prefill: one block and less, several blocks, tails on both sides, one row. Decode: one chunk of
  // keys and several, one tile of rows and several, no keys.
  using Sizes = std::vector<std::pair<int, int>>;
  const Sizes sizes = GetParam().info().pass == FOVEA_DECODE
                          ? Sizes{{1, 40}, {1, 700}, {3, 513}, {9, 256}, {20, 20}, {2, 0}}
                          : Sizes{{20, 20}, {70, 133}, {1, 40}, {96, 64}};
  for (const auto& [rows, keys] : sizes) {
    const KernelTrial::Report report = try_on_device(GetParam(), {2, 4, 2}, rows, keys);
    EXPECT_TRUE(report.passed) << rows << " rows, " << keys << " keys: " << report.text;
  }
}

INSTANTIATE_TEST_SUITE_P(, DeviceTrial, testing::ValuesIn(device_kernels()),
                         [](const testing::TestParamInfo<Case>& tested) {
                           return std::string(tested.param.info().name).substr(6);
                         });

}  // namespace
}  // namespace fovea::test
