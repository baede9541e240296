// header_test.cpp: the generated C and C++ headers as an application uses them.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fovea_test_dims.hpp"
#include "fovea_test_kernels.hpp"
#include "tests/support/explanation.h"

namespace {

constexpr std::int64_t rows = 3, features = 64;

struct Inputs {
  std::vector<float> q = std::vector<float>(rows * features, 0.0F);
  std::vector<float> k = std::vector<float>(rows * features, 1.0F);
  std::vector<float> v = std::vector<float>(rows * features);
  std::vector<float> out = std::vector<float>(rows * features);
  fovea::Call call;

  Inputs() {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i / features + 1);
    const fovea::Shape shape = {1, 1, rows, features};
    call = {fovea::tensor(q.data(), shape), fovea::tensor(k.data(), shape),
            fovea::tensor(v.data(), shape), fovea::tensor(out.data(), shape)};
  }
};

TEST(GeneratedHeader, RunsAVariantWithoutParameters) {
  Inputs in;
  std::vector<float> lse(rows);
  in.call.lse = fovea::lse_tensor(lse.data(), 1, 1, rows);
  const fovea::Status status = fovea_test_kernels::causal::run(in.call);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(in.out[0], 1.0F);
  EXPECT_EQ(in.out[features], 1.5F);
  EXPECT_EQ(in.out[2 * features], 2.0F);
  EXPECT_NEAR(lse[2], std::log(3.0F), 1e-6F);
}

TEST(GeneratedHeader, RunsAVariantWithScalars) {
  Inputs in;
  fovea_test_kernels::softcapped_window::Params params = {};
  params.softcap = 20.0F;
  params.window = 2;
  ASSERT_TRUE(fovea_test_kernels::softcapped_window::run(in.call, params).ok());
  EXPECT_EQ(in.out[2 * features], 2.5F);
  params.window = 0;
  const fovea::Status refused = fovea_test_kernels::softcapped_window::run(in.call, params);
  EXPECT_EQ(refused.code(), FOVEA_INVALID_ARGUMENT);
  EXPECT_NE(std::string(refused.message()).find("params.window = 0"), std::string::npos);
}

TEST(GeneratedHeader, RunsAVariantWithATable) {
  Inputs in;
  const std::int32_t length = 2;
  fovea_test_kernels::padded::Params params = {fovea::table(&length, 1)};
  ASSERT_TRUE(fovea_test_kernels::padded::run(in.call, params).ok());
  EXPECT_EQ(in.out[0], 1.5F);
}

TEST(GeneratedHeader, SizesItsWorkspaceAndExplains) {
  Inputs in;
  const std::size_t size = fovea_test_kernels::causal::workspace(in.call);
  std::vector<unsigned char> workspace(size + 1);
  in.call.workspace = workspace.data();
  in.call.workspace_size = size;
  EXPECT_TRUE(fovea_test_kernels::causal::run(in.call).ok());
  EXPECT_EQ(fovea_test_kernels::causal::explain(in.call).rfind("chosen: fovea_prefill__causal", 0),
            0U);
}

// However long the list of candidates: every kernel of the variant has its answer.
TEST(GeneratedHeader, ExplainIsNeverCut) {
  Inputs in;
  const std::string text = fovea_test_dims::causal::explain(in.call);
  EXPECT_GT(text.size(), 1024U);
  const fovea_library_info* library = fovea_test_dims_library();
  for (std::int32_t i = 0; i < library->kernel_count; ++i) {
    const fovea_kernel_info& kernel = library->kernels[i];
    if (library->variants[kernel.variant].name != std::string("causal")) continue;
    EXPECT_NE(fovea::test::answer_about(text, kernel.name), "") << kernel.name;
  }
}

TEST(GeneratedHeader, TheCFunctionsAreTheSame) {
  Inputs in;
  const fovea_test_kernels_causal_window_params params = {1};
  ASSERT_EQ(fovea_test_kernels_causal_window(&in.call, &params), FOVEA_OK);
  EXPECT_EQ(in.out[features], 2.0F);
  EXPECT_EQ(fovea_test_kernels_causal_window_workspace(&in.call),
            fovea_test_kernels::causal_window::workspace(in.call));
}

}  // namespace
