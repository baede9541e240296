// One work item of a prefill call: its arguments as Halide wants them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_WORK_ITEM_H
#define FOVEA_WORK_ITEM_H

#include "buffers.h"

namespace fovea::detail {

struct WorkItem {
  int64_t block, b, head;
};

// Returns the kernel's code.
int run_item(const Problem& problem, const fovea_kernel_info& kernel, const Parameters& parameters,
             const WorkItem& item, fovea_scratch* scratch, UnwantedRows unwanted);

}  // namespace fovea::detail
#endif
