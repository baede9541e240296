// Overrides: argument, API mask, environment, best; and what explain says of every candidate.
// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <tuple>
#include <vector>

#include "cpu_detect.h"
#include "fake_library.h"
#include "targets.h"

namespace fovea::test {
namespace {

// Every test leaves mask and environment as it found them.
class Selection : public testing::Test {
 protected:
  void SetUp() override { unset(); }
  void TearDown() override { unset(); }

  static void unset() {
    unsetenv("FOVEA_TARGET");
    ASSERT_EQ(fovea_set_enabled_targets(nullptr), FOVEA_OK);
    forget_seen();
  }

  // Index of the kernel that ran, -1 if none did.
  static int ran(Attention& a) {
    forget_seen();
    if (a.run() != FOVEA_OK) return -1;
    const auto records = seen();
    for (const Seen& record : records) EXPECT_EQ(record.kernel, records[0].kernel);
    return records[0].kernel;
  }
};

TEST_F(Selection, TakesTheUsableTargetWithTheLargestPreference) {
  Attention a;
  EXPECT_EQ(ran(a), kPlainAvx2);
}

TEST_F(Selection, ArgumentBeatsEnvironment) {
  Attention a;
  a.exec.target = "x86-sse41";
  EXPECT_EQ(ran(a), kPlainSse41);
  setenv("FOVEA_TARGET", "x86-avx2", 1);
  EXPECT_EQ(ran(a), kPlainSse41);
  setenv("FOVEA_TARGET", "nonsense", 1);
  EXPECT_EQ(ran(a), kPlainSse41);
}

TEST_F(Selection, EnvironmentIsReadAtEveryCall) {
  Attention a;
  setenv("FOVEA_TARGET", "x86-sse41", 1);
  EXPECT_EQ(ran(a), kPlainSse41);
  setenv("FOVEA_TARGET", "", 1);
  EXPECT_EQ(ran(a), kPlainAvx2);
}

TEST_F(Selection, UnknownNameInTheEnvironmentIsAnError) {
  Attention a;
  setenv("FOVEA_TARGET", "x86-avx3", 1);
  EXPECT_EQ(a.run(), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(
      fovea_last_message(),
      "FOVEA_TARGET = \"x86-avx3\": no such target; allowed: x86-sse41, x86-avx2, x86-avx512, "
      "x86-avx512-bf16-intel, x86-avx512-bf16-amd, arm64-neon, arm64-neon-fp16, opencl, "
      "cuda-sm70, cuda-sm80, cuda-sm86");
}

TEST_F(Selection, ForcedButUnusableIsAnErrorWithTheReason) {
  Attention a;
  setenv("FOVEA_TARGET", "x86-avx512", 1);
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_NE(std::string(fovea_last_message()).find("FOVEA_TARGET = \"x86-avx512\""),
            std::string::npos);
  EXPECT_NE(std::string(fovea_last_message()).find("CPU lacks feature bit 62"), std::string::npos);
}

TEST_F(Selection, MaskRestrictsEveryWayToChoose) {
  Attention a;
  ASSERT_EQ(fovea_set_enabled_targets("x86-sse41,x86-avx512"), FOVEA_OK);
  EXPECT_EQ(ran(a), kPlainSse41);
  a.exec.target = "x86-avx2";
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_NE(std::string(fovea_last_message()).find("disabled by fovea_set_enabled_targets"),
            std::string::npos);
  a.exec.target = nullptr;
  setenv("FOVEA_TARGET", "x86-avx2", 1);
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  ASSERT_EQ(fovea_set_enabled_targets(nullptr), FOVEA_OK);
  EXPECT_EQ(ran(a), kPlainAvx2);
}

TEST_F(Selection, MaskWithoutAnyUsableTargetIsAnError) {
  Attention a;
  ASSERT_EQ(fovea_set_enabled_targets("x86-avx512"), FOVEA_OK);
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  const std::string message = fovea_last_message();
  EXPECT_NE(message.find("x86-avx2: disabled"), std::string::npos) << message;
  EXPECT_NE(message.find("x86-avx512: CPU lacks"), std::string::npos) << message;
}

TEST_F(Selection, UnknownNamesInTheMaskChangeNothing) {
  Attention a;
  ASSERT_EQ(fovea_set_enabled_targets("x86-sse41"), FOVEA_OK);
  for (const char* names :
       {"x86-avx2,", "", ",", "x86-avx2,x86-avx", "x86-avx2 ", "X86-AVX2", "x86-avx2, x86-sse41"}) {
    EXPECT_EQ(fovea_set_enabled_targets(names), FOVEA_INVALID_ARGUMENT) << names;
    EXPECT_NE(std::string(fovea_last_message()).find("x86-sse41, x86-avx2, x86-avx512"),
              std::string::npos);
  }
  EXPECT_EQ(ran(a), kPlainSse41);
}

TEST_F(Selection, ExplainNamesTheChoiceAndEveryRefusal) {
  Attention a;
  a.exec.threads = 2;
  std::string text;
  EXPECT_EQ(a.explain(&text), FOVEA_OK);
  EXPECT_EQ(
      text,
      "chosen: fovea_prefill__plain__f32__d4__x86-avx2 (x86-avx2 is the usable target with the "
      "largest "
      "preference, 20; pass prefill: more than 16 query rows; up to 2 threads, workspace 2111 "
      "bytes)\n"
      "usable, but x86-avx2 has the larger preference:\n"
      "  fovea_prefill__plain__f32__d4__x86-sse41\n"
      "refused, CPU lacks feature bit 62:\n"
      "  fovea_prefill__plain__f32__d4__x86-avx512\n"
      "refused, has head dims 4/2, not 4/4:\n"
      "  fovea_prefill__plain__f32__d4v2__x86-avx2\n"
      "refused, computes dtype f16, not f32:\n"
      "  fovea_prefill__plain__f16__d4__x86-avx2\n");
  EXPECT_TRUE(seen().empty());
}

TEST_F(Selection, ExplainNamesOverrides) {
  Attention a;
  a.exec.target = "x86-sse41";
  std::string text;
  EXPECT_EQ(a.explain(&text), FOVEA_OK);
  EXPECT_NE(text.find("x86-sse41 (exec.target forces x86-sse41;"), std::string::npos) << text;
  // One answer over both kernels that get it.
  EXPECT_NE(text.find("refused, not the target that exec.target forces (x86-sse41):\n"
                      "  fovea_prefill__plain__f32__d4__x86-avx2\n"
                      "  fovea_prefill__plain__f32__d4__x86-avx512\n"),
            std::string::npos)
      << text;
}

TEST_F(Selection, ExplainWorksForCallsItCannotRead) {
  Attention a;
  a.call.size = 1;
  std::string text;
  EXPECT_EQ(a.explain(&text), FOVEA_INVALID_ARGUMENT);
  EXPECT_EQ(text.rfind("invalid argument: call.size = 1", 0), 0U) << text;
  EXPECT_NE(text.find("\nnot considered, the call could not be read:\n"
                      "  fovea_prefill__plain__f32__d4__x86-sse41\n"),
            std::string::npos)
      << text;
  char small[8];
  EXPECT_EQ(fovea_variant_explain(&a.library, 0, nullptr, small, sizeof(small)),
            FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(small, "invalid");
  EXPECT_EQ(fovea_variant_explain(&a.library, 0, nullptr, nullptr, 0), FOVEA_INVALID_ARGUMENT);
}

TEST_F(Selection, ExplainIsCutLikeSnprintf) {
  Attention a;
  std::string whole;
  ASSERT_EQ(a.explain(&whole), FOVEA_OK);
  for (size_t capacity = 1; capacity < whole.size() + 3; ++capacity) {
    std::vector<char> text(capacity + 1, '#');
    EXPECT_EQ(fovea_variant_explain(&a.library, kPlain, &a.call, text.data(), capacity), FOVEA_OK);
    EXPECT_EQ(std::string(text.data()), whole.substr(0, capacity - 1));
    EXPECT_EQ(text[capacity], '#');
  }
}

TEST_F(Selection, IsPure) {
  const fovea_library_info library = fake_library();
  const detail::Request request = {kPlain, FOVEA_PREFILL, FOVEA_F32, FOVEA_CACHE_NONE, 4, 4};
  const char* here = detail::cpu_architecture();
  const detail::Capabilities everything = {
      here,    ~UINT64_C(0), detail::CpuFamily::kUnknown, detail::kAllTargetsEnabled,
      nullptr, nullptr};
  EXPECT_EQ(select_kernel(library, request, everything), kPlainAvx512);
  detail::Capabilities elsewhere = everything;
  elsewhere.architecture = "another";
  EXPECT_EQ(select_kernel(library, request, elsewhere), detail::kNoKernel);
  EXPECT_EQ(judge(library, library.kernels[0], request, elsewhere).refusal,
            detail::Refusal::kArchitecture);
  detail::Capabilities nothing = everything;
  nothing.cpu_features = 0;
  const detail::Verdict verdict = judge(library, library.kernels[kPlainAvx512], request, nothing);
  EXPECT_EQ(verdict.refusal, detail::Refusal::kCpu);
  EXPECT_EQ(verdict.missing_features, UINT64_C(1) << 62);
}

// Two schedules of one kernel: the one with limits stands first.
struct TwoSchedules {
  TwoSchedules() : library(fake_library()) {
    kernels.assign(library.kernels, library.kernels + library.kernel_count);
    fovea_kernel_info narrow = kernels[kPlainAvx2];
    narrow.name = "fovea_prefill__plain__f32__d4__x86-avx2__q20_k12";
    narrow.most_rows = 20;
    narrow.most_keys = 12;
    kernels.insert(kernels.begin() + kPlainAvx2, narrow);
    library.kernels = kernels.data();
    library.kernel_count = static_cast<int32_t>(kernels.size());
  }
  static constexpr int kNarrow = kPlainAvx2, kWide = kPlainAvx2 + 1;
  fovea_library_info library;
  std::vector<fovea_kernel_info> kernels;
};

TEST_F(Selection, LimitsOfAScheduleDecideByTheLongestSequence) {
  const TwoSchedules two;
  const detail::Capabilities here = {
      detail::cpu_architecture(), 0,       detail::CpuFamily::kUnknown,
      detail::kAllTargetsEnabled, nullptr, nullptr};
  detail::Request request = {kPlain, FOVEA_PREFILL, FOVEA_F32, FOVEA_CACHE_NONE, 4, 4};
  for (const auto& [rows, keys, expected] : {std::tuple{20, 12, TwoSchedules::kNarrow},
                                             {1, 1, TwoSchedules::kNarrow},
                                             {21, 12, TwoSchedules::kWide},
                                             {20, 13, TwoSchedules::kWide},
                                             {4000, 4000, TwoSchedules::kWide}}) {
    request.q_rows = rows;
    request.kv_rows = keys;
    EXPECT_EQ(select_kernel(two.library, request, here), expected) << rows << " " << keys;
  }
  EXPECT_EQ(judge(two.library, two.kernels[TwoSchedules::kNarrow], request, here).refusal,
            detail::Refusal::kShape);
  // A better target with no schedule for short calls comes before a worse one that has it.
  detail::Capabilities better = here;
  better.cpu_features = ~UINT64_C(0);
  request.q_rows = request.kv_rows = 1;
  EXPECT_EQ(select_kernel(two.library, request, better), kPlainAvx512 + 1);
}

TEST_F(Selection, ExplainNamesTheLimitsOfSchedules) {
  const TwoSchedules two;
  Attention a(kPlain, 2, 4, 2, 20, 12);
  a.library = two.library;
  std::string text;
  ASSERT_EQ(a.explain(&text), FOVEA_OK);
  EXPECT_EQ(text.rfind("chosen: fovea_prefill__plain__f32__d4__x86-avx2__q20_k12 (x86-avx2 is the "
                       "usable target with the largest preference, 20; its schedule is for at most "
                       "20 query rows and 12 keys; pass prefill",
                       0),
            0U)
      << text;
  EXPECT_NE(text.find("usable, but there is a schedule for calls of at most 20 query rows and 12 "
                      "keys:\n  fovea_prefill__plain__f32__d4__x86-avx2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("usable, but x86-avx2 has the larger preference:\n"
                      "  fovea_prefill__plain__f32__d4__x86-sse41\n"),
            std::string::npos)
      << text;

  Attention longer(kPlain, 2, 4, 2, 21, 12);
  longer.library = two.library;
  ASSERT_EQ(longer.explain(&text), FOVEA_OK);
  EXPECT_EQ(text.rfind("chosen: fovea_prefill__plain__f32__d4__x86-avx2 (", 0), 0U) << text;
  EXPECT_NE(text.find("refused, is for calls of at most 20 query rows and 12 keys:\n"
                      "  fovea_prefill__plain__f32__d4__x86-avx2__q20_k12\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace fovea::test
