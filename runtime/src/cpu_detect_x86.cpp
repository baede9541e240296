// What CPUID and XCR0 say. SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "cpu_detect.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define FOVEA_ON_X86 1
#else
#define FOVEA_ON_X86 0
#endif

namespace fovea::detail {
namespace {

bool bit(uint64_t word, int index) { return ((word >> index) & 1) != 0; }

#if FOVEA_ON_X86
uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  // The bytes of xgetbv: the mnemonic needs -mxsave, and this file is compiled for the baseline.
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

#endif

}  // namespace

#if FOVEA_ON_X86
X86Leaves read_x86_leaves() {
  X86Leaves leaves = {};
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  leaves.max_leaf = __get_cpuid_max(0, nullptr);
  if (leaves.max_leaf >= 1) {
    __cpuid(0, a, b, c, d);
    const uint32_t vendor[] = {b, d, c};
    memcpy(leaves.vendor, vendor, sizeof(vendor));
    __cpuid(1, a, b, c, d);
    leaves.leaf1_eax = a;
    leaves.leaf1_ecx = c;
    if (bit(c, 27)) leaves.xcr0 = read_xcr0();  // without OSXSAVE the instruction faults
  }
  if (leaves.max_leaf >= 7) {
    __cpuid_count(7, 0, a, b, c, d);
    leaves.leaf7_ebx = b;
    leaves.leaf7_ecx = c;
    leaves.leaf7_edx = d;
    if (a >= 1) {
      __cpuid_count(7, 1, a, b, c, d);
      leaves.leaf7_1_eax = a;
    }
  }
  leaves.max_extended_leaf = __get_cpuid_max(0x80000000U, nullptr);
  if (leaves.max_extended_leaf >= 0x80000001U) {
    __cpuid(0x80000001U, a, b, c, d);
    leaves.extended1_ecx = c;
  }
  return leaves;
}
#else
X86Leaves read_x86_leaves() { return {}; }
#endif

uint64_t x86_features(const X86Leaves& leaves) {
  uint64_t found = 0;
  if (leaves.max_leaf >= 1) {
    if (bit(leaves.leaf1_ecx, 19)) found |= FOVEA_CPU_MASK(SSE41);
    if (bit(leaves.leaf1_ecx, 22)) found |= FOVEA_CPU_MASK(MOVBE);
    if (bit(leaves.leaf1_ecx, 23)) found |= FOVEA_CPU_MASK(POPCNT);
  }
  const uint32_t leaf7 = leaves.max_leaf >= 7 ? leaves.leaf7_ebx : 0;
  if (bit(leaf7, 3)) found |= FOVEA_CPU_MASK(BMI1);
  if (bit(leaf7, 8)) found |= FOVEA_CPU_MASK(BMI2);
  if (leaves.max_extended_leaf >= 0x80000001U && bit(leaves.extended1_ecx, 5))
    found |= FOVEA_CPU_MASK(LZCNT);
  if (leaves.max_extended_leaf >= 0x80000001U && bit(leaves.extended1_ecx, 6))
    found |= FOVEA_CPU_MASK(SSE4A);
  const uint32_t leaf7_ecx = leaves.max_leaf >= 7 ? leaves.leaf7_ecx : 0;
  const uint32_t leaf7_edx = leaves.max_leaf >= 7 ? leaves.leaf7_edx : 0;
  const uint32_t leaf7_1 = leaves.max_leaf >= 7 ? leaves.leaf7_1_eax : 0;
  if (bit(leaf7_ecx, 8)) found |= FOVEA_CPU_MASK(GFNI);

  // From here on: vector registers that the operating system has to save. XCR0 bit 1 xmm, 2 ymm, 5
  // opmask, 6 the upper halves of zmm0-15, 7 zmm16-31. Hypervisors are known to pass CPUID through
  // and leave XCR0 bits off.
  constexpr uint64_t kYmm = 0x6;
  constexpr uint64_t kZmm = 0xe6;
  const bool osxsave = leaves.max_leaf >= 1 && bit(leaves.leaf1_ecx, 27);
  if (!osxsave || (leaves.xcr0 & kYmm) != kYmm || !bit(leaves.leaf1_ecx, 28)) return found;
  found |= FOVEA_CPU_MASK(AVX);
  if (bit(leaves.leaf1_ecx, 29)) found |= FOVEA_CPU_MASK(F16C);
  if (bit(leaves.leaf1_ecx, 12)) found |= FOVEA_CPU_MASK(FMA);
  if (bit(leaf7, 5)) found |= FOVEA_CPU_MASK(AVX2);
  if (bit(leaf7_ecx, 9)) found |= FOVEA_CPU_MASK(VAES);
  if (bit(leaf7_ecx, 10)) found |= FOVEA_CPU_MASK(VPCLMULQDQ);
  if (bit(leaf7_1, 4)) found |= FOVEA_CPU_MASK(AVXVNNI);

  if ((leaves.xcr0 & kZmm) != kZmm || !bit(leaf7, 16)) return found;
  found |= FOVEA_CPU_MASK(AVX512F);
  if (bit(leaf7, 17)) found |= FOVEA_CPU_MASK(AVX512DQ);
  if (bit(leaf7, 28)) found |= FOVEA_CPU_MASK(AVX512CD);
  if (bit(leaf7, 30)) found |= FOVEA_CPU_MASK(AVX512BW);
  if (bit(leaf7, 31)) found |= FOVEA_CPU_MASK(AVX512VL);
  if (bit(leaf7, 21)) found |= FOVEA_CPU_MASK(AVX512IFMA);
  if (bit(leaf7_ecx, 1)) found |= FOVEA_CPU_MASK(AVX512VBMI);
  if (bit(leaf7_ecx, 6)) found |= FOVEA_CPU_MASK(AVX512VBMI2);
  if (bit(leaf7_ecx, 11)) found |= FOVEA_CPU_MASK(AVX512VNNI);
  if (bit(leaf7_ecx, 12)) found |= FOVEA_CPU_MASK(AVX512BITALG);
  if (bit(leaf7_ecx, 14)) found |= FOVEA_CPU_MASK(AVX512VPOPCNTDQ);
  if (bit(leaf7_edx, 23)) found |= FOVEA_CPU_MASK(AVX512FP16);
  if (bit(leaf7_1, 5)) found |= FOVEA_CPU_MASK(AVX512BF16);
  return found;
}

}  // namespace fovea::detail
