// SPDX-License-Identifier: Apache-2.0
#include "workspace.h"

#include <inttypes.h>
#include <stdlib.h>

namespace fovea::detail {
namespace {

constexpr int32_t kMaxWorkers = 1024;  // bounds the workspace whatever exec.threads says

}  // namespace

size_t round_up_to_slice(size_t size) {
  return (size + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment;
}

SliceNeeds needs_of(const fovea_kernel_info& kernel, size_t element_size, int32_t unwanted_rows) {
  return {kernel.name, kernel.scratch_bytes,
          round_up_to_slice(static_cast<size_t>(kernel.block_rows) * element_size), unwanted_rows};
}

int32_t unwanted_rows_of(const Problem& problem) {
  int32_t rows = 0;
  for (const ExtraOutput& extra : kExtraOutputs) {
    const bool is_returned = (problem.variant->outputs & extra.bit) != 0;
    if (is_returned && !extra.is_per_key && !is_wanted(problem.call, extra)) ++rows;
  }
  return rows;
}

fovea_status plan_slices(const fovea_exec& exec, const SliceNeeds& needs, int64_t items,
                         size_t shared_bytes, int32_t default_threads, WorkspacePlan* plan) {
  *plan = {};
  int32_t workers = exec.threads > 0 ? exec.threads : default_threads;
  if (workers > kMaxWorkers) workers = kMaxWorkers;
  plan->workers = items < workers ? static_cast<int32_t>(items) : workers;
  plan->shared_bytes = shared_bytes;
  plan->unwanted_step = needs.unwanted_step;
  plan->unwanted_bytes = needs.unwanted_step * static_cast<size_t>(needs.unwanted_rows);
  if (needs.scratch_bytes > SIZE_MAX - plan->unwanted_bytes - 2 * kSliceAlignment) {
    return fail(FOVEA_OUT_OF_MEMORY, "kernel %s needs %zu bytes of scratch for each worker",
                needs.kernel, needs.scratch_bytes);
  }
  plan->slice_bytes = plan->unwanted_bytes + round_up_to_slice(needs.scratch_bytes);
  if (plan->slice_bytes == 0 && shared_bytes == 0) return FOVEA_OK;
  size_t bytes = 0;
  if (__builtin_mul_overflow(plan->slice_bytes, static_cast<size_t>(plan->workers), &bytes) ||
      __builtin_add_overflow(bytes, shared_bytes, &bytes) ||
      __builtin_add_overflow(bytes, kSliceAlignment - 1, &bytes)) {
    return fail(FOVEA_OUT_OF_MEMORY,
                "exec.threads = %" PRId32 ": %zu bytes of scratch for each of them do not fit",
                plan->workers, plan->slice_bytes);
  }
  plan->bytes = bytes;
  return FOVEA_OK;
}

fovea_status acquire_workspace(const Problem& problem, const WorkspacePlan& plan,
                               Workspace* workspace) {
  *workspace = {problem.call.workspace, nullptr, false};
  if (plan.bytes == 0) return FOVEA_OK;
  if (workspace->memory == nullptr) {
    const fovea_allocator* allocator = problem.exec.allocator;
    workspace->owned = true;
    workspace->memory = allocator != nullptr
                            ? allocator->allocate(allocator->context, plan.bytes, kSliceAlignment)
                            : malloc(plan.bytes);
    if (workspace->memory == nullptr) {
      return fail(FOVEA_OUT_OF_MEMORY, "%s returned NULL for %zu bytes",
                  allocator != nullptr ? "exec.allocator->allocate" : "malloc", plan.bytes);
    }
  }
  const uintptr_t misaligned = reinterpret_cast<uintptr_t>(workspace->memory) % kSliceAlignment;
  workspace->base = static_cast<unsigned char*>(workspace->memory) +
                    (misaligned != 0 ? kSliceAlignment - misaligned : 0);
  return FOVEA_OK;
}

void release_workspace(const Problem& problem, const Workspace& workspace) {
  if (!workspace.owned) return;
  const fovea_allocator* allocator = problem.exec.allocator;
  if (allocator != nullptr) {
    allocator->release(allocator->context, workspace.memory);
  } else {
    free(workspace.memory);
  }
}

}  // namespace fovea::detail
