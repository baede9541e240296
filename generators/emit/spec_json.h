// spec_json.h: how a kernel is described wherever fovea writes JSON.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_SPEC_JSON_H
#define FOVEA_GENERATORS_EMIT_SPEC_JSON_H

#include <nlohmann/json.hpp>

#include "generators/emit/kernel_spec.h"

namespace fovea {

// name, variant, pass, dtype, cache, d_qk, d_v, target; most_rows and most_keys where there are
// such limits.
nlohmann::ordered_json spec_json(const KernelSpec& spec);

}  // namespace fovea

#endif
