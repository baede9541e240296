// SPDX-License-Identifier: Apache-2.0
#include "cpu_family.h"

#include <string.h>

#include <atomic>

namespace fovea::detail {
namespace {

struct Models {
  CpuFamily family;
  const char* vendor;
  uint32_t cpuid_family, first_model, last_model;
};
constexpr Models kModels[] = {
#define FOVEA_CPU_MODELS(enumerator, vendor, family, first_model, last_model) \
  {CpuFamily::k##enumerator, vendor, family, first_model, last_model},
#include <fovea/cpu_families.def>
};

}  // namespace

CpuFamily x86_family(const X86Leaves& leaves) {
  if (leaves.max_leaf < 1) return CpuFamily::kUnknown;
  char vendor[13] = {};
  memcpy(vendor, leaves.vendor, sizeof(leaves.vendor));
  // Extended family and model count only where the base family says so.
  const uint32_t signature = leaves.leaf1_eax;
  uint32_t family = (signature >> 8) & 0xf;
  uint32_t model = (signature >> 4) & 0xf;
  if (family == 6 || family == 15) model |= (signature >> 12) & 0xf0;
  if (family == 15) family += (signature >> 20) & 0xff;
  for (const Models& models : kModels) {
    if (family == models.cpuid_family && model >= models.first_model &&
        model <= models.last_model && strcmp(vendor, models.vendor) == 0)
      return models.family;
  }
  return CpuFamily::kUnknown;
}

CpuFamily cpu_family() {
  // As with the features: racing first calls store the same answer.
  constexpr int32_t kNotYet = -1;
  static std::atomic<int32_t> cached{kNotYet};
  int32_t known = cached.load(std::memory_order_relaxed);
  if (known == kNotYet) {
    known = static_cast<int32_t>(x86_family(read_x86_leaves()));
    cached.store(known, std::memory_order_relaxed);
  }
  return static_cast<CpuFamily>(known);
}

const char* cpu_family_name(CpuFamily family) {
  switch (family) {
#define FOVEA_CPU_FAMILY(enumerator, name) \
  case CpuFamily::k##enumerator:           \
    return name;
#include <fovea/cpu_families.def>
    case CpuFamily::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace fovea::detail
