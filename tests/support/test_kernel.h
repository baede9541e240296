// test_kernel.h: the list of generated kernels that tests run over.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_TEST_KERNEL_H
#define FOVEA_TESTS_SUPPORT_TEST_KERNEL_H

#include <fovea/registry.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace fovea {
class Variant;
}

namespace fovea::test {

struct TestKernel {
  const fovea_library_info* library = nullptr;
  int32_t index = 0;

  const fovea_kernel_info& info() const { return library->kernels[index]; }
  const fovea_variant_info& variant() const { return library->variants[info().variant]; }
  const fovea_target_info& target() const { return library->targets[info().target]; }
  std::string variant_name() const { return variant().name; }
  fovea_dtype dtype() const { return info().dtype; }  // of q, k, v and out
  bool on_device() const;                             // tensors are copied there
  bool decodes() const { return info().pass == FOVEA_DECODE; }
  const char* pass_name() const { return decodes() ? "decode" : "prefill"; }
  // Outputs besides the attention that a call may ask of this kernel.
  uint32_t outputs() const;
  // What a number of this size may be off by, beside the f32 arithmetic: the output is rounded, and
  // so are the weights on the way to it.
  double rounding(double size) const;
  // Products are made of bf16 numbers as they are: a subnormal one may count as 0.
  bool multiplies_bf16() const;
  bool has_score_steps() const;
  // The declaration that the kernel was generated from.
  const Variant& declaration() const;
};

// Why decode kernels are not held to give a row the same bits in another place: rows of a tile are
// unrolled, and a compiler that may rearrange sums does not do so alike for all of them.
inline constexpr const char* same_code_for_every_row =
    "rows of a decode tile have code of their own";

// Defined by the test program: the libraries it is linked with.
std::vector<const fovea_library_info*> tested_libraries();

// Every kernel of every library, restricted by `wanted`.
std::vector<TestKernel> kernels_where(const std::function<bool(const TestKernel&)>& wanted);
std::vector<TestKernel> all_kernels();
// One a target and type of this variant and these head dimensions.
std::vector<TestKernel> kernels_of(const std::string& variant, int d_qk, int d_v);
std::vector<TestKernel> kernels_of(const std::string& variant);

// Empty if this machine can run the target, else the reason.
std::string why_not_runnable(const fovea_target_info& target);

// Test names consist of letters, digits and underscores.
std::string test_name(const testing::TestParamInfo<TestKernel>& info);
void PrintTo(const TestKernel& kernel, std::ostream* out);

// A test for each kernel of a list. Skips, with the reason, what cannot run here.
class KernelTest : public testing::TestWithParam<TestKernel> {
 protected:
  void SetUp() override {
    const std::string reason = why_not_runnable(GetParam().target());
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

// Counts generated cases; the test program prints the sum.
void count_case(int64_t cases = 1);
int64_t counted_cases();

}  // namespace fovea::test

// Test cases of `suite`, each named by its kernel.
#define FOVEA_FOR_KERNELS(suite, list)                                                  \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(list), ::fovea::test::test_name); \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite)

#endif
