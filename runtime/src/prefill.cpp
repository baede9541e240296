// SPDX-License-Identifier: Apache-2.0
#include "prefill.h"

#include "work_item.h"

namespace fovea::detail {
namespace {

int64_t blocks_of(int64_t rows, const fovea_kernel_info& kernel) {
  return (rows + kernel.block_rows - 1) / kernel.block_rows;
}

}  // namespace

int64_t most_prefill_items(const Problem& problem, const fovea_kernel_info& kernel) {
  // Fits: distinct output elements of this number exist in memory.
  if (!problem.is_ragged())
    return blocks_of(problem.q_rows, kernel) * problem.batch * problem.q_heads;
  int64_t blocks = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    if (pass_of(problem, b) == FOVEA_PREFILL) blocks += blocks_of(rows_of(problem, b), kernel);
  }
  return blocks * problem.q_heads;
}

PrefillItems prefill_items(const Problem& problem, const fovea_kernel_info& kernel,
                           const Parameters& parameters, Sequences sequences) {
  PrefillItems items = {&problem, &kernel, &parameters, sequences, 0};
  for (int64_t i = 0; i < sequences.count; ++i)
    items.count += blocks_of(rows_of(problem, sequences.at(i)), kernel) * problem.q_heads;
  return items;
}

int PrefillCursor::run(int64_t item, const WorkerSlice& slice) {
  const Problem& problem = *items_.problem;
  const int64_t heads = problem.q_heads;
  const auto blocks_here = [&] {
    return blocks_of(rows_of(problem, items_.sequences.at(index_)), *items_.kernel);
  };
  if (!is_begun_) blocks_ = blocks_here();
  is_begun_ = true;
  while (item - first_ >= blocks_ * heads) {
    first_ += blocks_ * heads;
    ++index_;
    blocks_ = blocks_here();
  }
  const int64_t group = heads / problem.kv_heads;
  const int64_t here = item - first_;
  const int64_t kv_head = here / (blocks_ * group);
  const int64_t of_kv_head = here % (blocks_ * group);
  const WorkItem work_item = {blocks_ - 1 - of_kv_head / group, items_.sequences.at(index_),
                              kv_head * group + of_kv_head % group};
  fovea_scratch scratch = slice.scratch();
  return run_item(problem, *items_.kernel, *items_.parameters, work_item, &scratch,
                  slice.unwanted());
}

}  // namespace fovea::detail
