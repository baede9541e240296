// Reported faults of dispatchers and thread counts, as their smallest inputs; see bank_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "cpu_detect.h"
#include "every_target.h"
#include "fake_library.h"
#include "targets.h"

namespace fovea::test {
namespace {

using detail::Capabilities;
using detail::X86Leaves;

constexpr X86Leaves kSkylakeX = {22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0x2ff};

Capabilities on(const X86Leaves& leaves) {
  return {"x86",
          x86_features(leaves),
          detail::CpuFamily::kUnknown,
          detail::kAllTargetsEnabled,
          nullptr,
          nullptr};
}

std::string choice(const EveryTarget& every, const Capabilities& capabilities) {
  const int32_t index = every.choose(FOVEA_F32, capabilities);
  return index < 0 ? "none" : every.library.kernels[index].name;
}

// https://github.com/halide/Halide/issues/5050: the first match of a list of targets won
TEST(BankDispatch, Row184TheOrderOfTargetsMakesNoDifference) {
  const Capabilities capabilities = on(kSkylakeX);
  EveryTarget every;
  std::sort(every.kernels.begin(), every.kernels.end(),
            [](const auto& a, const auto& b) { return std::strcmp(a.name, b.name) < 0; });
  do {
    ASSERT_EQ(choice(every, capabilities), "x86-avx512");
    std::rotate(every.kernels.begin(), every.kernels.begin() + 1, every.kernels.end());
  } while (std::strcmp(every.kernels[0].name, "x86-sse41") != 0);
  std::reverse(every.kernels.begin(), every.kernels.end());
  EXPECT_EQ(choice(every, capabilities), "x86-avx512");
}

// https://github.com/halide/Halide/issues/2911: features past what a mask has room for. Two
// features of one bit do not compile (cpu_detect.cpp); one that this runtime does not know is not
// there.
TEST(BankDispatch, Row185FeaturesThatNobodyKnowsAreMissing) {
  for (int bit = 0; bit < 64; ++bit) {
    EveryTarget every;
    for (fovea_target_info& target : every.targets) {
      if (std::strcmp(target.name, "x86-sse41") != 0) target.needed_features |= UINT64_C(1) << bit;
    }
    const bool known = (x86_features(kSkylakeX) >> bit & 1) != 0;
    EXPECT_EQ(choice(every, on(kSkylakeX)), known ? "x86-avx512" : "x86-sse41") << bit;
  }
}

// https://github.com/jax-ml/jax/issues/2906: a guest whose CPUID has AVX-512 and whose XCR0 has not
TEST(BankDispatch, Row187RegistersThatNobodySaves) {
  const EveryTarget every;
  X86Leaves guest = kSkylakeX;
  EXPECT_EQ(choice(every, on(guest)), "x86-avx512");
  for (const int missing : {5, 6, 7}) {
    guest.xcr0 = kSkylakeX.xcr0 & ~(UINT64_C(1) << missing);
    EXPECT_EQ(choice(every, on(guest)), "x86-avx2") << missing;
  }
  guest.xcr0 = kSkylakeX.xcr0 & ~UINT64_C(0xe0);
  EXPECT_EQ(choice(every, on(guest)), "x86-avx2");
}

// https://github.com/uxlfoundation/oneDNN/issues/5689: what CPUID says of AMX is not listened to,
// and any level can be capped
TEST(BankDispatch, Row188TilesAreNotAskedFor) {
  X86Leaves with_tiles = kSkylakeX;
  with_tiles.leaf7_edx |= 1U << 22 | 1U << 24 | 1U << 25;
  EXPECT_EQ(x86_features(with_tiles), x86_features(kSkylakeX));
  const EveryTarget every;
  Capabilities capped = on(with_tiles);
  for (const char* target : {"x86-avx512", "x86-avx2", "x86-sse41"}) {
    capped.forced_target = target;
    capped.forced_by = "FOVEA_TARGET";
    EXPECT_EQ(choice(every, capped), target);
  }
}

// https://github.com/halide/Halide/issues/5910: a smaller number of threads had no effect
TEST(BankDispatch, Row140FewerThreadsAreFewer) {
  Attention a(kPlain, 2, 4, 2, 40, 12);
  for (const int32_t threads : {8, 1, 3, 1}) {
    a.exec.threads = threads;
    const int calls = pool_calls();
    ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
    EXPECT_EQ(pool_calls() - calls, threads == 1 ? 0 : 1);
    if (threads > 1) {
      EXPECT_EQ(pool_tasks(), threads);
    }
  }
}

}  // namespace
}  // namespace fovea::test
