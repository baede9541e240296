// The workers of a call: who runs them, and what they share.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_WORKERS_H
#define FOVEA_WORKERS_H

#include <atomic>

#include "buffers.h"
#include "workspace.h"

namespace fovea::detail {

// The memory of one worker.
struct WorkerSlice {
  unsigned char* memory;
  const WorkspacePlan* plan;

  // The part that the kernel takes its memory from, all of it free.
  fovea_scratch scratch() const {
    return {memory + plan->unwanted_bytes, plan->slice_bytes - plan->unwanted_bytes, 0, nullptr};
  }
  UnwantedRows unwanted() const { return {memory, plan->unwanted_step}; }
};

// Items are handed out by rising index: a worker's cursor only ever walks forward.
struct Work {
  const Problem* problem;
  const fovea_kernel_info* kernels[2];  // the second may be NULL
  const WorkspacePlan* plan;
  unsigned char* slices;
  int64_t items;
  int32_t workers;
  // Computes items until there are none left: one call for each worker, with its slice.
  void (*run_worker)(Work* work, const WorkerSlice& slice);
  std::atomic<int64_t> next_item;
  std::atomic<int32_t> next_slice;
  std::atomic<int32_t> finished_workers;
  std::atomic<int> kernel_error;  // of the first item that failed
  std::atomic<const fovea_kernel_info*> failed_kernel;
};

// items, run_worker and what the work adds are left to the caller.
void start_work(Work* work, const Problem& problem, const fovea_kernel_info* kernel,
                const fovea_kernel_info* other_kernel, const WorkspacePlan& plan,
                const Workspace& workspace);

// Before there are workers.
WorkerSlice first_slice(const Work& work);

// The index of the next item, or -1 when there are none left, or one has failed.
int64_t take_item(Work* work);
void report_error(Work* work, const fovea_kernel_info& kernel, int code);

fovea_status run_workers(Work* work);

}  // namespace fovea::detail
#endif
