// SPDX-License-Identifier: Apache-2.0
#include "run_call.h"

#include "decode.h"
#include "prefill.h"

namespace fovea::detail {
namespace {

struct CallWork : Work {
  Parameters parameters;
  PrefillItems prefill;
  DecodeItems decode;
};

void run_worker(Work* base, const WorkerSlice& slice) {
  auto* work = static_cast<CallWork*>(base);
  PrefillCursor prefill(work->prefill);
  DecodeCursor decode(work->decode);
  for (int64_t item; (item = take_item(work)) >= 0;) {
    const bool is_prefill = item < work->prefill.count;
    const int code =
        is_prefill ? prefill.run(item, slice) : decode.run(item - work->prefill.count, slice);
    if (code != 0)
      report_error(work, *(is_prefill ? work->prefill.kernel : work->decode.kernel), code);
  }
}

// A slice that serves either kernel.
SliceNeeds needs_of_call(const Problem& problem, const PassKernels& kernels) {
  SliceNeeds needs = {};
  for (const fovea_kernel_info* kernel : kernels) {
    if (kernel == nullptr) continue;
    const SliceNeeds one = needs_of(*kernel, sizeof(float), unwanted_rows_of(problem));
    const size_t step = needs.unwanted_step;
    if (one.scratch_bytes >= needs.scratch_bytes) needs = one;
    if (step > needs.unwanted_step) needs.unwanted_step = step;
    if (one.unwanted_step > needs.unwanted_step) needs.unwanted_step = one.unwanted_step;
  }
  return needs;
}

}  // namespace

fovea_status plan_call(const Problem& problem, const PassKernels& kernels, int32_t default_threads,
                       CallPlan* plan) {
  const fovea_kernel_info* prefill = kernels[FOVEA_PREFILL];
  const fovea_kernel_info* decode = kernels[FOVEA_DECODE];
  int64_t items = prefill != nullptr ? most_prefill_items(problem, *prefill) : 0;
  DecodeMemory memory = {};
  if (decode != nullptr) {
    const fovea_status status = plan_decode(problem, *decode, &memory);
    if (status != FOVEA_OK) return status;
    items += memory.items;
  }
  const size_t order_bytes =
      problem.is_ragged() ? round_up_to_slice(static_cast<size_t>(problem.batch) * sizeof(int32_t))
                          : 0;
  const fovea_status status =
      plan_slices(problem.exec, needs_of_call(problem, kernels), items,
                  order_bytes + memory.group_bytes + memory.record_bytes, default_threads, plan);
  plan->order_bytes = order_bytes;
  plan->group_bytes = memory.group_bytes;
  return status;
}

fovea_status run_call(const Problem& problem, const void* params, const PassKernels& kernels,
                      const CallPlan& plan) {
  Workspace workspace;
  fovea_status status = acquire_workspace(problem, plan, &workspace);
  if (status != FOVEA_OK) return status;
  // Not cleared: its parameters are kilobytes, and what is used of them is filled.
  CallWork work;
  const fovea_kernel_info* prefill = kernels[FOVEA_PREFILL];
  const fovea_kernel_info* decode = kernels[FOVEA_DECODE];
  start_work(&work, problem, prefill != nullptr ? prefill : decode,
             prefill != nullptr ? decode : nullptr, plan, workspace);
  work.run_worker = run_worker;
  fill_parameters(problem, params, &work.parameters);
  const SequencesOfPasses sequences =
      problem.is_ragged()
          ? order_sequences(problem, reinterpret_cast<int32_t*>(workspace.base))
          : all_sequences(problem, prefill != nullptr ? FOVEA_PREFILL : FOVEA_DECODE);
  work.prefill.count = work.decode.count = 0;
  int code = 0;
  if (prefill != nullptr)
    work.prefill = prefill_items(problem, *prefill, work.parameters, sequences.prefill);
  if (decode != nullptr) {
    unsigned char* groups = workspace.base + plan.order_bytes;
    code = decode_items(problem, *decode, work.parameters, sequences.decode, groups,
                        groups + plan.group_bytes, first_slice(work), &work.decode);
    if (code != 0) {
      status = fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d", decode->name, code);
    }
  }
  work.items = work.prefill.count + work.decode.count;
  if (code == 0 && work.items > 0) status = run_workers(&work);
  release_workspace(problem, workspace);
  return status;
}

}  // namespace fovea::detail
