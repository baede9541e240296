// SPDX-License-Identifier: Apache-2.0
#include "prefill.h"

#include "work_item.h"
#include "workers.h"

namespace fovea::detail {
namespace {

struct PrefillWork : Work {
  Parameters parameters;
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

void run_worker(Work* base, unsigned char* slice) {
  auto* work = static_cast<PrefillWork*>(base);
  Cursor cursor(*work->problem, *work->kernel);
  for (int64_t item; (item = take_item(work)) >= 0;) {
    fovea_scratch scratch = scratch_of(*work, slice);
    const int code =
        run_item(*work->problem, *work->kernel, work->parameters, cursor.advance_to(item), &scratch,
                 {slice, work->plan->unwanted_step});
    if (code != 0) report_error(work, code);
  }
}

}  // namespace

fovea_status plan_prefill(const Problem& problem, const fovea_kernel_info& kernel,
                          int32_t default_threads, WorkspacePlan* plan) {
  // Fits: distinct output elements of this number exist in memory.
  const int64_t items = blocks_of(problem.q_rows, kernel) * problem.batch * problem.q_heads;
  const SliceNeeds needs = needs_of(kernel, sizeof(float), unwanted_rows_of(problem));
  return plan_slices(problem.exec, needs, items, 0, default_threads, plan);
}

fovea_status run_prefill(const Problem& problem, const void* params,
                         const fovea_kernel_info& kernel, const WorkspacePlan& plan) {
  int64_t items = 0;
  for (int64_t b = 0; b < problem.batch; ++b)
    items += blocks_of(rows_of(problem, b), kernel) * problem.q_heads;
  if (items == 0) return FOVEA_OK;
  Workspace workspace;
  fovea_status status = acquire_workspace(problem, plan, &workspace);
  if (status != FOVEA_OK) return status;
  // Not cleared: its parameters are kilobytes, and what is used of them is filled.
  PrefillWork work;
  start_work(&work, problem, kernel, plan, workspace);
  work.items = items;
  work.run_worker = run_worker;
  fill_parameters(problem, params, &work.parameters);
  status = run_workers(&work);
  release_workspace(problem, workspace);
  return status;
}

}  // namespace fovea::detail
