// Runs a call: the items of its passes through one set of workers.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_RUN_CALL_H
#define FOVEA_RUN_CALL_H

#include "workspace.h"

namespace fovea::detail {

// By pass, prefill and decode; NULL: no sequence runs in it.
using PassKernels = const fovea_kernel_info* [2];

// The shared part of the workspace: the order of the sequences, then what decode keeps.
struct CallPlan : WorkspacePlan {
  size_t order_bytes, group_bytes;
};

fovea_status plan_call(const Problem& problem, const PassKernels& kernels, int32_t default_threads,
                       CallPlan* plan);

// Everything has been checked. Items of prefill come before those of decode, of which the last are
// short; results do not depend on who computes them.
fovea_status run_call(const Problem& problem, const void* params, const PassKernels& kernels,
                      const CallPlan& plan);

}  // namespace fovea::detail
#endif
