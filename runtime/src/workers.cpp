// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

#include <inttypes.h>

#include "parallel.h"

namespace fovea::detail {
namespace {

int worker_task(void* closure, int32_t) {
  auto* work = static_cast<Work*>(closure);
  // Slices are handed out by a counter, not by the index that parallel_for gives: a hook that runs
  // an index twice at once must not make two workers share memory.
  const int32_t slice = work->next_slice.fetch_add(1, std::memory_order_relaxed);
  if (slice < 0 || slice >= work->workers) return 0;
  work->run_worker(work, work->slices + static_cast<size_t>(slice) * work->plan->slice_bytes);
  work->finished_workers.fetch_add(1);
  return work->kernel_error.load();
}

}  // namespace

void start_work(Work* work, const Problem& problem, const fovea_kernel_info& kernel,
                const WorkspacePlan& plan, const Workspace& workspace) {
  work->problem = &problem;
  work->kernel = &kernel;
  work->plan = &plan;
  work->slices = workspace.base != nullptr ? workspace.base + plan.shared_bytes : nullptr;
  work->next_item.store(0);
  work->next_slice.store(0);
  work->finished_workers.store(0);
  work->kernel_error.store(0);
}

int64_t take_item(Work* work) {
  if (work->kernel_error.load(std::memory_order_relaxed) != 0) return -1;
  const int64_t item = work->next_item.fetch_add(1, std::memory_order_relaxed);
  return item < work->items ? item : -1;
}

void report_error(Work* work, int code) {
  int none = 0;
  work->kernel_error.compare_exchange_strong(none, code);
}

fovea_scratch scratch_of(const Work& work, unsigned char* slice) {
  return {slice + work.plan->unwanted_bytes, work.plan->slice_bytes - work.plan->unwanted_bytes, 0,
          nullptr};
}

fovea_status run_workers(Work* work) {
  work->workers =
      work->items < work->plan->workers ? static_cast<int32_t>(work->items) : work->plan->workers;
  const char* runner = nullptr;
  const int code = run_tasks(work->problem->exec, work->workers, worker_task, work, &runner);
  const int kernel_error = work->kernel_error.load();
  if (kernel_error != 0) {
    return fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d", work->kernel->name,
                kernel_error);
  }
  if (code != 0) {
    return fail(FOVEA_KERNEL_FAILED, "%s returned %d while running kernel %s", runner, code,
                work->kernel->name);
  }
  const int32_t finished = work->finished_workers.load();
  if (finished != work->workers) {
    return fail(FOVEA_KERNEL_FAILED, "%s ran %" PRId32 " of %" PRId32 " tasks of kernel %s", runner,
                finished, work->workers, work->kernel->name);
  }
  return FOVEA_OK;
}

}  // namespace fovea::detail
