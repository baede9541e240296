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

// Takes the rows of outputs that the call does not want, one after the other.
struct UnwantedRows {
  unsigned char* memory;
  size_t step;  // bytes, block_rows numbers and more
};

// Returns the kernel's code.
int run_item(const Problem& problem, const fovea_kernel_info& kernel, const Parameters& parameters,
             const WorkItem& item, fovea_scratch* scratch, UnwantedRows unwanted);

}  // namespace fovea::detail
#endif
