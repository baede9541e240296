// What the kernel says of an Arm CPU. SPDX-License-Identifier: Apache-2.0
#include "cpu_detect.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace fovea::detail {
namespace {

// Bits of asm/hwcap.h, written out: headers of other machines and older systems lack some of them.
struct Bit {
  int index;
  uint64_t feature;
};
constexpr Bit kFirstWord[] = {{1, FOVEA_CPU_MASK(ASIMD)},
                              {9, FOVEA_CPU_MASK(FPHP)},
                              {10, FOVEA_CPU_MASK(ASIMDHP)},
                              {20, FOVEA_CPU_MASK(ASIMDDP)},
                              {22, FOVEA_CPU_MASK(SVE)}};
constexpr Bit kSecondWord[] = {
    {1, FOVEA_CPU_MASK(SVE2)}, {13, FOVEA_CPU_MASK(I8MM)}, {14, FOVEA_CPU_MASK(ARM_BF16)}};

}  // namespace

Arm64Words read_arm64_words() {
#if defined(__aarch64__) && defined(__linux__)
  return {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
#elif defined(__aarch64__)
  return {UINT64_C(1) << 1, 0};  // the vectors of Arm v8 are part of every such system
#else
  return {};
#endif
}

uint64_t arm64_features(const Arm64Words& words) {
  uint64_t found = 0;
  for (const Bit& bit : kFirstWord) {
    if (((words.hwcap >> bit.index) & 1) != 0) found |= bit.feature;
  }
  for (const Bit& bit : kSecondWord) {
    if (((words.hwcap2 >> bit.index) & 1) != 0) found |= bit.feature;
  }
  // Kernels before 6.14 report SVE2 on CPUs that have it in streaming mode only: without SVE it is
  // not there.
  if ((found & FOVEA_CPU_MASK(SVE)) == 0) found &= ~FOVEA_CPU_MASK(SVE2);
  return found;
}

}  // namespace fovea::detail
