// Which CPU features this process may use: the CPU has them and the operating system saves their
// registers. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_CPU_DETECT_H
#define FOVEA_CPU_DETECT_H

#include <fovea/registry.h>

#include "message.h"

namespace fovea::detail {

// The raw words that x86 detection depends on. Tests feed recorded ones.
struct X86Leaves {
  uint32_t max_leaf;           // CPUID(0).eax
  uint32_t leaf1_ecx;          // CPUID(1).ecx
  uint32_t leaf7_ebx;          // CPUID(7, 0).ebx; 0 if max_leaf < 7
  uint32_t max_extended_leaf;  // CPUID(0x80000000).eax
  uint32_t extended1_ecx;      // CPUID(0x80000001).ecx; 0 if out of range
  uint64_t xcr0;               // XGETBV(0); 0 unless OSXSAVE is set
  uint32_t leaf7_ecx = 0;      // CPUID(7, 0).ecx and .edx; 0 if max_leaf < 7
  uint32_t leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;  // CPUID(7, 1).eax; 0 if CPUID(7, 0).eax < 1
  uint32_t leaf1_eax = 0;    // CPUID(1).eax: family and model
  char vendor[12] = {};      // CPUID(0).ebx, .edx, .ecx
};

X86Leaves read_x86_leaves();  // of this machine; zeros elsewhere

uint64_t x86_features(const X86Leaves& leaves);  // FOVEA_CPU_MASK bits

// The words that the Linux kernel gives every process on an Arm CPU. It sets a bit only for what it
// saves as well.
struct Arm64Words {
  uint64_t hwcap;   // AT_HWCAP
  uint64_t hwcap2;  // AT_HWCAP2
};

Arm64Words read_arm64_words();  // of this machine; zeros elsewhere

uint64_t arm64_features(const Arm64Words& words);  // FOVEA_CPU_MASK bits

uint64_t cpu_features();  // of this process; detected once

const char*
cpu_architecture();  // "x86", "arm64" or "unknown"; as in fovea_target_info.architecture

void append_feature_names(Text& text, uint64_t features, const char* separator);

}  // namespace fovea::detail
#endif
