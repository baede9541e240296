// Runs a prefill call: its items and their order.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PREFILL_H
#define FOVEA_PREFILL_H

#include "workspace.h"

namespace fovea::detail {

fovea_status plan_prefill(const Problem& problem, const fovea_kernel_info& kernel,
                          int32_t default_threads, WorkspacePlan* plan);

// Everything has been checked.
fovea_status run_prefill(const Problem& problem, const void* params,
                         const fovea_kernel_info& kernel, const WorkspacePlan& plan);

}  // namespace fovea::detail
#endif
