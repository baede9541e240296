// Runs a prefill call: items, workers, workspace.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PREFILL_H
#define FOVEA_PREFILL_H

#include "checks.h"

namespace fovea::detail {

// Depends on the shapes and the thread limit only, never on lengths: one query serves a buffer for
// all calls of a shape.
struct WorkspacePlan {
  int32_t workers;  // most that the call may use
  // At the start of a slice: the rows of outputs that the kernel writes and nobody asked for, for
  // each of them unwanted_step bytes.
  size_t unwanted_step, unwanted_bytes;
  size_t slice_bytes;  // of one worker, a multiple of 64
  size_t bytes;        // for all workers, from a base of any alignment
};

// FOVEA_OUT_OF_MEMORY if the size does not fit size_t.
fovea_status plan_workspace(const Problem& problem, const fovea_kernel_info& kernel,
                            int32_t default_threads, WorkspacePlan* plan);

// Everything has been checked.
fovea_status run_prefill(const Problem& problem, const void* params,
                         const fovea_kernel_info& kernel, const WorkspacePlan& plan);

}  // namespace fovea::detail
#endif
