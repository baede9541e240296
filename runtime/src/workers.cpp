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
  WorkerSlice memory = first_slice(*work);
  memory.memory += static_cast<size_t>(slice) * work->plan->slice_bytes;
  work->run_worker(work, memory);
  work->finished_workers.fetch_add(1);
  return work->kernel_error.load();
}

void append_kernels(Text& text, const Work& work) {
  const bool both = work.kernels[1] != nullptr;
  text.append("kernel%s %s%s%s", both ? "s" : "", work.kernels[0]->name, both ? " and " : "",
              both ? work.kernels[1]->name : "");
}

}  // namespace

void start_work(Work* work, const Problem& problem, const fovea_kernel_info* kernel,
                const fovea_kernel_info* other_kernel, const WorkspacePlan& plan,
                const Workspace& workspace) {
  work->problem = &problem;
  work->kernels[0] = kernel;
  work->kernels[1] = other_kernel;
  work->plan = &plan;
  work->slices = workspace.base != nullptr ? workspace.base + plan.shared_bytes : nullptr;
  work->next_item.store(0);
  work->next_slice.store(0);
  work->finished_workers.store(0);
  work->kernel_error.store(0);
  work->failed_kernel.store(nullptr);
}

WorkerSlice first_slice(const Work& work) { return {work.slices, work.plan}; }

int64_t take_item(Work* work) {
  if (work->kernel_error.load(std::memory_order_relaxed) != 0) return -1;
  const int64_t item = work->next_item.fetch_add(1, std::memory_order_relaxed);
  return item < work->items ? item : -1;
}

void report_error(Work* work, const fovea_kernel_info& kernel, int code) {
  const fovea_kernel_info* none = nullptr;
  if (work->failed_kernel.compare_exchange_strong(none, &kernel)) work->kernel_error.store(code);
}

fovea_status run_workers(Work* work) {
  work->workers =
      work->items < work->plan->workers ? static_cast<int32_t>(work->items) : work->plan->workers;
  const char* runner = nullptr;
  const int code = run_tasks(work->problem->exec, work->workers, worker_task, work, &runner);
  const int kernel_error = work->kernel_error.load();
  if (kernel_error != 0) {
    return fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d",
                work->failed_kernel.load()->name, kernel_error);
  }
  const int32_t finished = work->finished_workers.load();
  if (code == 0 && finished == work->workers) return FOVEA_OK;
  Text text = message_text();
  if (code != 0) {
    text.append("%s returned %d while running ", runner, code);
  } else {
    text.append("%s ran %" PRId32 " of %" PRId32 " tasks of ", runner, finished, work->workers);
  }
  append_kernels(text, *work);
  return FOVEA_KERNEL_FAILED;
}

}  // namespace fovea::detail
