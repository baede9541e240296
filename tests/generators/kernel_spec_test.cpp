// kernel_spec_test.cpp: kernel names and their inverse.
// SPDX-License-Identifier: Apache-2.0
#include "generators/emit/kernel_spec.h"

#include <gtest/gtest.h>

#include <string>

#include "generators/targets/target_table.h"

namespace fovea {
namespace {

TEST(KernelName, Grammar) {
  EXPECT_EQ(kernel_name({"prefill", "causal", "f32", 64, 64, "x86-avx2"}),
            "fovea_prefill__causal__f32__d64__x86_avx2");
  EXPECT_EQ(kernel_name({"decode", "softcapped_window", "bf16", 192, 128, "x86-avx512-bf16"}),
            "fovea_decode__softcapped_window__bf16__d192x128__x86_avx512_bf16");
}

TEST(KernelName, RoundTrip) {
  for (const TargetRow& target : target_table()) {
    for (const char* variant : {"a", "causal", "global_window_2d", "d64", "x86"}) {
      for (const int d_qk : {1, 8, 64, 192, 1024}) {
        for (const int d_v : {1, 64, 128}) {
          const KernelSpec spec{"prefill", variant, "f32", d_qk, d_v, target.name};
          const auto parsed = parse_kernel_name(kernel_name(spec));
          ASSERT_TRUE(parsed) << kernel_name(spec);
          EXPECT_EQ(*parsed, spec);
        }
      }
    }
  }
}

TEST(KernelName, Caches) {
  const KernelSpec spec{"decode", "causal", "bf16", 192, 128, "x86-avx2", "int8"};
  EXPECT_EQ(kernel_name(spec), "fovea_decode__causal__bf16__cache_int8__d192x128__x86_avx2");
  EXPECT_EQ(parse_kernel_name(kernel_name(spec)), spec);
  for (const char* text : {"fovea_decode__causal__bf16__cache_none__d64__x86_avx2",
                           "fovea_decode__causal__bf16__int8__d64__x86_avx2",
                           "fovea_decode__causal__bf16__cache___d64__x86_avx2"})
    EXPECT_FALSE(parse_kernel_name(text)) << text;
}

TEST(KernelName, LimitsOfCalls) {
  KernelSpec spec{"prefill", "causal", "bf16", 64, 64, "x86-avx512-bf16-amd"};
  spec.most_rows = 400, spec.most_keys = 1000;
  EXPECT_EQ(kernel_name(spec), "fovea_prefill__causal__bf16__d64__x86_avx512_bf16_amd__q400_k1000");
  EXPECT_EQ(parse_kernel_name(kernel_name(spec)), spec);
  EXPECT_EQ(kernel_name(without_limits(spec)),
            "fovea_prefill__causal__bf16__d64__x86_avx512_bf16_amd");
  spec.cache = "int8", spec.most_rows = 0;
  EXPECT_EQ(kernel_name(spec),
            "fovea_prefill__causal__bf16__cache_int8__d64__x86_avx512_bf16_amd__k1000");
  EXPECT_EQ(parse_kernel_name(kernel_name(spec)), spec);
  for (const char* limits : {"", "q", "k0", "q04", "400", "k400_q400", "q400_k400_k400", "q-4"}) {
    const std::string text = "fovea_prefill__causal__f32__d64__x86_avx2__" + std::string(limits);
    EXPECT_FALSE(parse_kernel_name(text)) << text;
  }
}

TEST(KernelName, DimensionsOfTwoNumbers) {
  const auto spec = parse_kernel_name("fovea_prefill__full__f32__d192x128__x86_sse41");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->d_qk, 192);
  EXPECT_EQ(spec->d_v, 128);
  EXPECT_EQ(spec->target, "x86-sse41");
}

TEST(KernelName, OtherTextsAreRefused) {
  for (const char* text : {
           "",
           "fovea_",
           "causal",
           "prefill__causal__f32__d64__x86_avx2",
           "fovea_prefill__causal__f32__d64",
           "fovea_prefill__causal__f32__d64__x86_avx2__more",
           "fovea_prefill__causal__f32__64__x86_avx2",
           "fovea_prefill__causal__f32__d__x86_avx2",
           "fovea_prefill__causal__f32__d0__x86_avx2",
           "fovea_prefill__causal__f32__d-64__x86_avx2",
           "fovea_prefill__causal__f32__d064__x86_avx2",
           "fovea_prefill__causal__f32__d64x__x86_avx2",
           "fovea_prefill__causal__f32__d64x64__x86_avx2",  // is d64
           "fovea_prefill__causal__f32__d64x32x16__x86_avx2",
           "fovea_prefill__causal__f32__d99999999999__x86_avx2",
           "fovea_prefill__causal__f32__d64 __x86_avx2",
           "fovea_prefill____f32__d64__x86_avx2",
           "fovea___causal__f32__d64__x86_avx2",
           "fovea_prefill___causal__f32__d64__x86_avx2",
           "fovea_prefill__causal___f32__d64__x86_avx2",
           "fovea_prefill__causal__f32__d64__",
           "fovea_prefill__causal__f32__d64__x86-avx2",
           "fovea_prefill__Causal__f32__d64__x86_avx2",
           "fovea_prefill__causal__f32__d64__x86_avx2\n",
           "fovea_prefill__causal__f32__d64__x86_avx2.tmp",
           " fovea_prefill__causal__f32__d64__x86_avx2",
       }) {
    EXPECT_FALSE(parse_kernel_name(text)) << "'" << text << "'";
  }
}

}  // namespace
}  // namespace fovea
