// Which family of CPUs this is: what the preference of targets may depend on.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_CPU_FAMILY_H
#define FOVEA_CPU_FAMILY_H

#include "cpu_detect.h"

namespace fovea::detail {

enum class CpuFamily : int32_t {
  kUnknown,
#define FOVEA_CPU_FAMILY(enumerator, name) k##enumerator,
#include <fovea/cpu_families.def>
};

CpuFamily x86_family(const X86Leaves& leaves);

CpuFamily cpu_family();  // of this machine; detected once

const char* cpu_family_name(CpuFamily family);  // "amd-zen4", …, "unknown"

}  // namespace fovea::detail
#endif
