// How much a target is preferred on a CPU family, and why it differs from its row in targets.def.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PREFERENCE_H
#define FOVEA_PREFERENCE_H

#include <fovea/registry.h>

#include "cpu_family.h"

namespace fovea::detail {

struct Preference {
  int32_t value;       // the largest wins
  const char* reason;  // of an exception; NULL: the target's own preference
};

Preference preference_of(const fovea_target_info& target, fovea_dtype dtype, CpuFamily family);

}  // namespace fovea::detail
#endif
