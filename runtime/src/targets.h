// The names of all targets, and which of them this process may choose.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TARGETS_H
#define FOVEA_TARGETS_H

#include <fovea/registry.h>

#include "message.h"

namespace fovea::detail {

constexpr uint64_t kAllTargetsEnabled = ~UINT64_C(0);

// Row of targets.def with this name (the first `length` characters), or -1.
int known_target(const char* name, size_t length);
// As in fovea_target_info; of a name that is unknown to both "unknown".
const char* target_architecture(const fovea_library_info& library, const char* name);
void append_known_targets(Text& text);  // "x86-sse41, x86-avx2, …"

uint64_t enabled_targets();  // bit i: row i of targets.def may be chosen
bool target_enabled(uint64_t enabled, const char* name);

}  // namespace fovea::detail
#endif
