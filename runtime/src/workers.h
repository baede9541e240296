// The workers of a call: who runs them, and what they share.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_WORKERS_H
#define FOVEA_WORKERS_H

#include <atomic>

#include "workspace.h"

namespace fovea::detail {

// Items are handed out by rising index: a worker's cursor only ever walks forward.
struct Work {
  const Problem* problem;
  const fovea_kernel_info* kernel;
  const WorkspacePlan* plan;
  unsigned char* slices;
  int64_t items;
  int32_t workers;
  // Computes items until there are none left: one call for each worker, with its slice.
  void (*run_worker)(Work* work, unsigned char* slice);
  std::atomic<int64_t> next_item;
  std::atomic<int32_t> next_slice;
  std::atomic<int32_t> finished_workers;
  std::atomic<int> kernel_error;  // of the first item that failed
};

// items, run_worker and what the pass adds are left to the caller.
void start_work(Work* work, const Problem& problem, const fovea_kernel_info& kernel,
                const WorkspacePlan& plan, const Workspace& workspace);

// The index of the next item, or -1 when there are none left, or one has failed.
int64_t take_item(Work* work);
void report_error(Work* work, int code);

// The part of a slice that the kernel takes its memory from.
fovea_scratch scratch_of(const Work& work, unsigned char* slice);

fovea_status run_workers(Work* work);

}  // namespace fovea::detail
#endif
