// The memory of a call: what all workers share, then a slice for each of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_WORKSPACE_H
#define FOVEA_WORKSPACE_H

#include "checks.h"

namespace fovea::detail {

constexpr size_t kSliceAlignment = 64;  // a cache line: workers share none

// Depends on the shapes and the thread limit only, never on lengths (but of ragged batches): one
// query serves a buffer for all calls of a shape.
struct WorkspacePlan {
  int32_t workers;      // most that the call may use
  size_t shared_bytes;  // before the slices, a multiple of 64
  // At the start of a slice: the rows of outputs that the kernel writes and nobody asked for, for
  // each of them unwanted_step bytes.
  size_t unwanted_step, unwanted_bytes;
  size_t slice_bytes;  // of one worker, a multiple of 64
  size_t bytes;        // for all of it, from a base of any alignment
};

size_t round_up_to_slice(size_t size);

// What one worker needs.
struct SliceNeeds {
  const char* kernel;  // the one that needs the most scratch
  size_t scratch_bytes;
  size_t unwanted_step;
  int32_t unwanted_rows;  // steps
};

// Of a kernel, whose unwanted outputs have a number of `element_size` bytes for each of its rows.
SliceNeeds needs_of(const fovea_kernel_info& kernel, size_t element_size, int32_t unwanted_rows);
// Those of the extra outputs that the variant returns and the call does not want.
int32_t unwanted_rows_of(const Problem& problem);

// For so many items, of which none needs more than one worker. FOVEA_OUT_OF_MEMORY if the size does
// not fit size_t.
fovea_status plan_slices(const fovea_exec& exec, const SliceNeeds& needs, int64_t items,
                         size_t shared_bytes, int32_t default_threads, WorkspacePlan* plan);

// The caller's memory, or the allocator's until release.
struct Workspace {
  void* memory;         // as it came
  unsigned char* base;  // aligned; NULL if the plan needs none
  bool owned;
};
fovea_status acquire_workspace(const Problem& problem, const WorkspacePlan& plan,
                               Workspace* workspace);
void release_workspace(const Problem& problem, const Workspace& workspace);

}  // namespace fovea::detail
#endif
