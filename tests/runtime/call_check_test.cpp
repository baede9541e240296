// Checks of the call, its settings and its lengths.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "check_row.h"

namespace fovea::test {
namespace {

class CallCheck : public testing::TestWithParam<CheckRow> {};

TEST_P(CallCheck, RefusesWithFieldAndValueAndWritesNothing) { expect_refused(GetParam()); }

int unused_object = 0;
const float kScaleNan = std::numeric_limits<float>::quiet_NaN();
const float kScaleInf = -std::numeric_limits<float>::infinity();
const fovea_allocator kNoRelease = {[](void*, size_t, size_t) -> void* { return nullptr; }, nullptr,
                                    nullptr};
unsigned char small_workspace[64];

const CheckRow kRows[] = {
    {"call_size_zero",
     kPlain,
     [](Attention& a) { a.call.size = 0; },
     FOVEA_INVALID_ARGUMENT,
     {"call.size = 0", "sizeof(fovea_call)"}},
    {"call_size_too_small",
     kPlain,
     [](Attention& a) { a.call.size = 100; },
     FOVEA_INVALID_ARGUMENT,
     {"call.size = 100", "allowed"}},
    {"call_size_too_large",
     kPlain,
     [](Attention& a) { a.call.size += 8; },
     FOVEA_INVALID_ARGUMENT,
     {"call.size = ", "allowed"}},
    {"exec_size_zero",
     kPlain,
     [](Attention& a) { a.exec.size = 0; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.size = 0", "sizeof(fovea_exec)"}},
    {"exec_size_too_large",
     kPlain,
     [](Attention& a) { a.exec.size = 4096; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.size = 4096", "allowed"}},
    {"threads_negative",
     kPlain,
     [](Attention& a) { a.exec.threads = -1; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.threads = -1", "allowed: 0"}},
    {"target_unknown",
     kPlain,
     [](Attention& a) { a.exec.target = "x86-avx3"; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.target = \"x86-avx3\"", "x86-sse41, x86-avx2, x86-avx512, x86-avx512-bf16-intel, "}},
    {"target_empty",
     kPlain,
     [](Attention& a) { a.exec.target = ""; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.target = \"\"", "x86-sse41"}},
    {"target_not_runnable",
     kPlain,
     [](Attention& a) { a.exec.target = "x86-avx512"; },
     FOVEA_UNSUPPORTED,
     {"exec.target = \"x86-avx512\"", "CPU lacks feature bit 62"}},
    {"target_not_compiled",
     kFull,
     [](Attention& a) { a.exec.target = "x86-avx2"; },
     FOVEA_UNSUPPORTED,
     {"exec.target = \"x86-avx2\"", "not compiled into library fake", "built: x86-sse41"}},
    {"pass_unknown",
     kPlain,
     [](Attention& a) { a.exec.pass = "prefil"; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.pass = \"prefil\"", "allowed: prefill"}},
    {"allocator_incomplete",
     kPlain,
     [](Attention& a) { a.exec.allocator = &kNoRelease; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.allocator->release is NULL"}},
    {"stream",
     kPlain,
     [](Attention& a) { a.exec.stream = &unused_object; },
     FOVEA_INVALID_ARGUMENT,
     {"exec.stream = 0x", "must be NULL"}},
    {"scale_nan",
     kPlain,
     [](Attention& a) { a.call.scale = &kScaleNan; },
     FOVEA_INVALID_ARGUMENT,
     {"scale = ", "nan", "finite"}},
    {"scale_infinite",
     kPlain,
     [](Attention& a) { a.call.scale = &kScaleInf; },
     FOVEA_INVALID_ARGUMENT,
     {"scale = -inf", "finite"}},
    {"workspace_too_small",
     kPlain,
     [](Attention& a) {
       a.call.workspace = small_workspace;
       a.call.workspace_size = sizeof(small_workspace);
       a.exec.threads = 1;
     },
     FOVEA_WORKSPACE_TOO_SMALL,
     {"workspace_size = 64", "at least 1087 bytes"}},
    {"q_len_negative",
     kPlain,
     [](Attention& a) { a.q_len = {20, -1}, a.call.q_len = a.q_len.data(); },
     FOVEA_INVALID_ARGUMENT,
     {"q_len[1] = -1", "0 to q.extent[2] = 20"}},
    {"q_len_too_large",
     kPlain,
     [](Attention& a) { a.q_len = {21, 1}, a.call.q_len = a.q_len.data(); },
     FOVEA_INVALID_ARGUMENT,
     {"q_len[0] = 21", "0 to q.extent[2] = 20"}},
    {"kv_len_negative",
     kPlain,
     [](Attention& a) { a.kv_len = {INT32_MIN, 1}, a.call.kv_len = a.kv_len.data(); },
     FOVEA_INVALID_ARGUMENT,
     {"kv_len[0] = -2147483648", "0 to k.extent[2] = 12"}},
    {"kv_len_too_large",
     kPlain,
     [](Attention& a) { a.kv_len = {12, 13}, a.call.kv_len = a.kv_len.data(); },
     FOVEA_INVALID_ARGUMENT,
     {"kv_len[1] = 13", "0 to k.extent[2] = 12"}},
    {"q_offset_too_large",
     kPlain,
     [](Attention& a) { a.q_offset = {0, INT32_MAX}, a.call.q_offset = a.q_offset.data(); },
     FOVEA_INVALID_ARGUMENT,
     {"q_offset[1] = 2147483647", "allowed: -1073676276 to 1073676268"}},
    {"q_offset_too_small",
     kPlain,
     [](Attention& a) { a.q_offset = {INT32_MIN, 0}, a.call.q_offset = a.q_offset.data(); },
     FOVEA_INVALID_ARGUMENT,
     {"q_offset[0] = -2147483648", "allowed: -1073676276 to 1073676268"}},
};

INSTANTIATE_TEST_SUITE_P(Rows, CallCheck, testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(LibraryCheck, RefusesWhatItCannotRead) {
  Attention a;
  EXPECT_EQ(fovea_variant_run(nullptr, 0, &a.call, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(), "library is NULL");
  EXPECT_EQ(fovea_variant_run(&a.library, 0, nullptr, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(), "call is NULL");
  EXPECT_EQ(fovea_variant_run(&a.library, 3, &a.call, nullptr), FOVEA_INVALID_ARGUMENT);
  EXPECT_STREQ(fovea_last_message(), "variant = 3: allowed: 0 to 2");
  EXPECT_EQ(fovea_variant_run(&a.library, -1, &a.call, nullptr), FOVEA_INVALID_ARGUMENT);
}

TEST(LibraryCheck, RefusesAnotherAbi) {
  Attention a;
  a.library.abi_version = 9;
  EXPECT_EQ(a.run(), FOVEA_UNSUPPORTED);
  EXPECT_NE(std::string(fovea_last_message()).find("abi_version = 9"), std::string::npos);
  EXPECT_EQ(a.workspace(), 0U);
  std::string text;
  EXPECT_EQ(a.explain(&text), FOVEA_UNSUPPORTED);
}

TEST(EmptyCall, ReturnsOkAndDoesNothing) {
  const int64_t shapes[][5] = {
      {0, 4, 2, 20, 12}, {2, 0, 0, 20, 12}, {2, 4, 2, 0, 12}, {0, 0, 0, 0, 0}, {2, 0, 2, 20, 12}};
  for (const auto& s : shapes) {
    Attention a(kFull, s[0], s[1], s[2], s[3], s[4]);
    forget_seen();
    EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_TRUE(seen().empty());
    EXPECT_EQ(a.workspace(), 0U);
    EXPECT_STREQ(fovea_last_message(), "");
  }
}

TEST(EmptyCall, NeedsNeitherMemoryNorAKernel) {
  Attention a(kPlain, 0, 0, 0, 2, 0);
  for (fovea_tensor* t : {&a.call.q, &a.call.k, &a.call.v, &a.call.out}) {
    t->extent[3] = 0;
    t->data = nullptr;
  }
  EXPECT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  std::string text;
  EXPECT_EQ(a.explain(&text), FOVEA_OK);
  EXPECT_EQ(text.rfind("ok: nothing to compute", 0), 0U) << text;
}

}  // namespace
}  // namespace fovea::test
