// SPDX-License-Identifier: Apache-2.0
#include "prefill.h"

#include <inttypes.h>
#include <stdlib.h>

#include <atomic>

#include "threads.h"
#include "work_item.h"

namespace fovea::detail {
namespace {

constexpr size_t kSliceAlignment = 64;  // a cache line: workers share none
constexpr int32_t kMaxWorkers = 1024;   // bounds the workspace whatever exec.threads says

// One call, shared by its workers.
struct Run {
  const Problem* problem;
  const fovea_kernel_info* kernel;
  const WorkspacePlan* plan;
  unsigned char* slices;
  Parameters parameters;
  int64_t items;
  int32_t workers;
  std::atomic<int64_t> next_item;
  std::atomic<int32_t> next_slice;
  std::atomic<int32_t> finished_workers;
  std::atomic<int> kernel_error;  // of the first item that failed
};

int64_t blocks_of(int64_t rows, const fovea_kernel_info& kernel) {
  return (rows + kernel.block_rows - 1) / kernel.block_rows;
}

// Items in order: sequences, KV heads, row blocks from the last to the first, the query heads that
// share the KV head. So workers stay with the keys and values of one head while those are in cache,
// and under a causal mask each head begins with its longest item: the last ones of all are short.
// Blocks past the end of a sequence are no items. A worker's items have rising indices, so its
// cursor only ever walks forward.
class Cursor {
 public:
  Cursor(const Problem& problem, const fovea_kernel_info& kernel)
      : problem_(problem), kernel_(kernel), group_(problem.q_heads / problem.kv_heads) {}

  WorkItem advance_to(int64_t item) {
    int64_t blocks = blocks_of(rows_of(problem_, b_), kernel_);
    while (item - first_ >= blocks * problem_.q_heads) {
      first_ += blocks * problem_.q_heads;
      blocks = blocks_of(rows_of(problem_, ++b_), kernel_);
    }
    const int64_t here = item - first_, of_kv_head = here % (blocks * group_);
    const int64_t kv_head = here / (blocks * group_);
    return {blocks - 1 - of_kv_head / group_, b_, kv_head * group_ + of_kv_head % group_};
  }

 private:
  const Problem& problem_;
  const fovea_kernel_info& kernel_;
  const int64_t group_;
  int64_t b_ = 0;
  int64_t first_ = 0;  // index of the first item of sequence b_
};

int run_worker(Run* run) {
  // Slices are handed out by a counter, not by the index that parallel_for gives: a hook that runs
  // an index twice at once must not make two workers share memory.
  const int32_t slice = run->next_slice.fetch_add(1, std::memory_order_relaxed);
  if (slice < 0 || slice >= run->workers) return 0;
  unsigned char* memory = run->slices + static_cast<size_t>(slice) * run->plan->slice_bytes;
  Cursor cursor(*run->problem, *run->kernel);
  while (run->kernel_error.load(std::memory_order_relaxed) == 0) {
    const int64_t item = run->next_item.fetch_add(1, std::memory_order_relaxed);
    if (item >= run->items) break;
    fovea_scratch scratch = {memory + run->plan->unwanted_bytes,
                             run->plan->slice_bytes - run->plan->unwanted_bytes, 0, nullptr};
    const int code = run_item(*run->problem, *run->kernel, run->parameters, cursor.advance_to(item),
                              &scratch, {memory, run->plan->unwanted_step});
    if (code == 0) continue;
    int none = 0;
    run->kernel_error.compare_exchange_strong(none, code);
  }
  run->finished_workers.fetch_add(1);
  return run->kernel_error.load();
}

int caller_task(void* closure, int32_t) { return run_worker(static_cast<Run*>(closure)); }

int halide_task(void*, int, uint8_t* closure) {
  return run_worker(reinterpret_cast<Run*>(closure));
}

fovea_status run_workers(Run* run) {
  const fovea_exec& exec = run->problem->exec;
  int code = 0;
  const char* pool = "the thread pool";
  if (run->workers == 1) {
    code = run_worker(run);
  } else if (exec.parallel_for != nullptr) {
    pool = "exec.parallel_for";
    code = exec.parallel_for(exec.pool, run->workers, caller_task, run);
  } else if (pool_has_threads()) {
    code = fovea_halide_do_par_for(nullptr, halide_task, 0, run->workers,
                                   reinterpret_cast<uint8_t*>(run));
  } else {
    for (int32_t i = 0; i < run->workers && code == 0; ++i) code = run_worker(run);
  }
  const int kernel_error = run->kernel_error.load();
  if (kernel_error != 0) {
    return fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d", run->kernel->name,
                kernel_error);
  }
  if (code != 0) {
    return fail(FOVEA_KERNEL_FAILED, "%s returned %d while running kernel %s", pool, code,
                run->kernel->name);
  }
  const int32_t finished = run->finished_workers.load();
  if (finished != run->workers) {
    return fail(FOVEA_KERNEL_FAILED, "%s ran %" PRId32 " of %" PRId32 " tasks of kernel %s", pool,
                finished, run->workers, run->kernel->name);
  }
  return FOVEA_OK;
}

size_t round_up(size_t size) {
  return (size + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment;
}

}  // namespace

fovea_status plan_workspace(const Problem& problem, const fovea_kernel_info& kernel,
                            int32_t default_threads, WorkspacePlan* plan) {
  *plan = {};
  if (problem.nothing_to_do) return FOVEA_OK;
  // Fits: distinct output elements of this number exist in memory.
  const int64_t items = blocks_of(problem.q_rows, kernel) * problem.batch * problem.q_heads;
  int32_t workers = problem.exec.threads > 0 ? problem.exec.threads : default_threads;
  if (workers > kMaxWorkers) workers = kMaxWorkers;
  plan->workers = items < workers ? static_cast<int32_t>(items) : workers;
  plan->unwanted_step = round_up(static_cast<size_t>(kernel.block_rows) * sizeof(float));
  for (const ExtraOutput& extra : kExtraOutputs) {
    const bool is_returned = (problem.variant->outputs & extra.bit) != 0;
    if (is_returned && !extra.is_per_key && !is_wanted(problem.call, extra))
      plan->unwanted_bytes += plan->unwanted_step;
  }
  if (kernel.scratch_bytes > SIZE_MAX - plan->unwanted_bytes - 2 * kSliceAlignment) {
    return fail(FOVEA_OUT_OF_MEMORY, "kernel %s needs %zu bytes of scratch for each worker",
                kernel.name, kernel.scratch_bytes);
  }
  plan->slice_bytes = plan->unwanted_bytes + round_up(kernel.scratch_bytes);
  if (plan->slice_bytes == 0) return FOVEA_OK;
  size_t bytes = 0;
  if (__builtin_mul_overflow(plan->slice_bytes, static_cast<size_t>(plan->workers), &bytes) ||
      __builtin_add_overflow(bytes, kSliceAlignment - 1, &bytes)) {
    return fail(FOVEA_OUT_OF_MEMORY,
                "exec.threads = %" PRId32 ": %zu bytes of scratch for each of them do not fit",
                plan->workers, plan->slice_bytes);
  }
  plan->bytes = bytes;
  return FOVEA_OK;
}

fovea_status run_prefill(const Problem& problem, const void* params,
                         const fovea_kernel_info& kernel, const WorkspacePlan& plan) {
  // Not cleared: its parameters are kilobytes, and what is used of them is filled.
  Run run;
  run.problem = &problem;
  run.kernel = &kernel;
  run.plan = &plan;
  run.items = 0;
  for (int64_t b = 0; b < problem.batch; ++b)
    run.items += blocks_of(rows_of(problem, b), kernel) * problem.q_heads;
  if (run.items == 0) return FOVEA_OK;
  run.workers = run.items < plan.workers ? static_cast<int32_t>(run.items) : plan.workers;
  run.next_item.store(0);
  run.next_slice.store(0);
  run.finished_workers.store(0);
  run.kernel_error.store(0);

  fill_parameters(problem, params, &run.parameters);
  void* memory = problem.call.workspace;
  const fovea_allocator* allocator = problem.exec.allocator;
  const bool owned = memory == nullptr && plan.bytes > 0;
  if (owned) {
    memory = allocator != nullptr
                 ? allocator->allocate(allocator->context, plan.bytes, kSliceAlignment)
                 : malloc(plan.bytes);
    if (memory == nullptr) {
      return fail(FOVEA_OUT_OF_MEMORY, "%s returned NULL for %zu bytes",
                  allocator != nullptr ? "exec.allocator->allocate" : "malloc", plan.bytes);
    }
  }
  run.slices = nullptr;
  if (plan.bytes > 0) {
    const uintptr_t misaligned = reinterpret_cast<uintptr_t>(memory) % kSliceAlignment;
    run.slices =
        static_cast<unsigned char*>(memory) + (misaligned != 0 ? kSliceAlignment - misaligned : 0);
  }
  const fovea_status status = run_workers(&run);
  if (owned) {
    if (allocator != nullptr) {
      allocator->release(allocator->context, memory);
    } else {
      free(memory);
    }
  }
  return status;
}

}  // namespace fovea::detail
