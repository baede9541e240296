// One work item of a prefill call: its arguments as Halide wants them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_WORK_ITEM_H
#define FOVEA_WORK_ITEM_H

#include "checks.h"
#include "halide_abi.h"

namespace fovea::detail {

struct WorkItem {
  int64_t block, b, head;
};

struct TableBuffer {
  HalideBuffer buffer;
  HalideDimension dimensions[4];
};

// The variant's parameters as kernel arguments: made once a call, read by all its workers.
struct Parameters {
  void* arguments[FOVEA_MAX_PARAMETERS];
  TableBuffer tables[FOVEA_MAX_PARAMETERS];
};

void fill_parameters(const Problem& problem, const void* params, Parameters* parameters);

// Returns the kernel's code. unwanted_lse takes the LSE rows (block_rows of them) if the call wants
// none.
int run_item(const Problem& problem, const fovea_kernel_info& kernel, const Parameters& parameters,
             const WorkItem& item, fovea_scratch* scratch, float* unwanted_lse);

}  // namespace fovea::detail
#endif
