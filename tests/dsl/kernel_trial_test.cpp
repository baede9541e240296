// kernel_trial_test.cpp: what a trial accepts and what it does not, with kernels made for it.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/half_precision.h>
#include <fovea/dsl/kernel_trial.h>
#include <fovea/dsl/masks.h>
#include <gtest/gtest.h>

#include <cmath>

namespace fovea {
namespace {

constexpr ExampleShape shape = {
    .heads = 2, .kv_heads = 1, .q_len = 5, .kv_len = 9, .d_qk = 8, .d_v = 8};

Variant causal_with_lse() {
  Variant v("causal");
  v.keep(masks::causal());
  v.returns(lse);
  return v;
}

// Writes the answer in double, rounded to the type of the call, after `change` saw it.
KernelTrial::Kernel exact_kernel(const Variant& variant,
                                 std::function<void(ReferenceResult&)> change = nullptr) {
  return [&variant, change](const fovea_call* call, const void*) -> std::string {
    ReferenceResult r = reference_attention(variant, *call, {});
    if (change) change(r);
    auto* out = static_cast<unsigned char*>(call->out.data);
    for (const double x : r.out) {
      store_element(out, call->out.dtype, static_cast<float>(x));
      out += element_size(call->out.dtype);
    }
    for (size_t i = 0; i < r.lse.size(); ++i) {
      static_cast<float*>(call->lse.data)[i] = static_cast<float>(r.lse[i]);
    }
    return "";
  };
}

class KernelTrials : public testing::TestWithParam<fovea_dtype> {};
INSTANTIATE_TEST_SUITE_P(, KernelTrials, testing::Values(FOVEA_F32, FOVEA_F16, FOVEA_BF16));

TEST_P(KernelTrials, AcceptTheRoundedAnswer) {
  const Variant variant = causal_with_lse();
  KernelTrial trial(variant, shape, exact_kernel(variant), GetParam());
  EXPECT_EQ(trial.call().q.dtype, GetParam());
  const KernelTrial::Report report = trial.check();
  EXPECT_TRUE(report.passed) << report.text;
  const auto* q = static_cast<const unsigned char*>(trial.call().q.data);
  EXPECT_LE(std::abs(load_element(q, GetParam())), 1.74f);
  for (const float x : trial.out()) EXPECT_EQ(x, rounded_to(GetParam(), x));
}

TEST_P(KernelTrials, RefuseAnErrorOfAFewRoundings) {
  const Variant variant = causal_with_lse();
  const double error = 12 * unit_roundoff(GetParam()) + 100 * unit_roundoff(FOVEA_F32);
  KernelTrial trial(variant, shape,
                    exact_kernel(variant, [&](ReferenceResult& r) { r.out[44] += 1.75 * error; }),
                    GetParam());
  const KernelTrial::Report report = trial.check();
  EXPECT_FALSE(report.passed) << report.text;
  EXPECT_NE(report.text.find("out of sequence 0, head 1, row 0, feature 4 is"), std::string::npos)
      << report.text;
}

// An LSE is f32 whatever the inputs are.
TEST_P(KernelTrials, RefuseARoundedLse) {
  const Variant variant = causal_with_lse();
  KernelTrial trial(variant, shape,
                    exact_kernel(variant, [](ReferenceResult& r) { r.lse[3] += 0.01; }),
                    GetParam());
  const KernelTrial::Report report = trial.check();
  EXPECT_FALSE(report.passed) << report.text;
  EXPECT_NE(report.text.find("lse of sequence 0, head 0, row 3 is"), std::string::npos)
      << report.text;
}

TEST_P(KernelTrials, NoticeWhatIsNotWritten) {
  const Variant variant = causal_with_lse();
  KernelTrial trial(
      variant, shape, [](const fovea_call*, const void*) { return std::string(); }, GetParam());
  EXPECT_FALSE(trial.check().passed);
}

TEST(KernelTrial, SaysWhyACallIsRefused) {
  const Variant variant = causal_with_lse();
  KernelTrial trial(variant, shape,
                    [](const fovea_call*, const void*) { return std::string("no such kernel"); });
  EXPECT_EQ(trial.call().q.dtype, FOVEA_F32);
  try {
    trial.check();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no such kernel");
  }
}

}  // namespace
}  // namespace fovea
