// fovea_merge: rows handed out to threads.
// SPDX-License-Identifier: Apache-2.0
#include "merge.h"

#include <inttypes.h>

#include <atomic>

#include "message.h"
#include "parallel.h"

namespace fovea::detail {
namespace {

// A thread takes rows of about this many elements at a time, below which it costs more to wake one.
constexpr int64_t kItemElements = 1 << 15;
constexpr int32_t kMaxWorkers = 1024;

struct Run {
  const Merge* merge;
  int64_t rows, rows_per_item, items;
  std::atomic<int64_t> next_item;
  std::atomic<int32_t> finished_workers;
};

int run_worker(void* closure, int32_t) {
  Run* run = static_cast<Run*>(closure);
  const int64_t* extent = run->merge->merged.out.extent;
  for (;;) {
    const int64_t item = run->next_item.fetch_add(1, std::memory_order_relaxed);
    if (item >= run->items) break;
    int64_t index = item * run->rows_per_item;
    const int64_t left = run->rows - index;
    int64_t row = index % extent[2];
    int64_t head = index / extent[2] % extent[1];
    int64_t batch = index / extent[2] / extent[1];
    for (int64_t i = 0; i < left && i < run->rows_per_item; ++i) {
      merge_row(*run->merge, batch, head, row);
      if (++row < extent[2]) continue;
      row = 0;
      if (++head < extent[1]) continue;
      head = 0;
      ++batch;
    }
  }
  run->finished_workers.fetch_add(1);
  return 0;
}

fovea_status run_merge(const Merge& merge) {
  const int64_t* extent = merge.merged.out.extent;
  const bool wants_lse = merge.merged.lse.data != nullptr;
  if (extent[3] == 0 && !wants_lse) return FOVEA_OK;
  Run run;
  run.merge = &merge;
  run.rows = extent[0] * extent[1] * extent[2];  // fits: one distinct output element or more each
  if (run.rows == 0) return FOVEA_OK;
  const int64_t in_a_row = (extent[3] + 16) * (merge.count < 64 ? merge.count + 1 : 64);
  run.rows_per_item = in_a_row < kItemElements ? kItemElements / in_a_row : 1;
  run.items = (run.rows - 1) / run.rows_per_item + 1;
  run.next_item.store(0);
  run.finished_workers.store(0);
  int32_t workers = 1;
  if (run.items > 1) {
    workers = merge.exec.threads > 0 ? merge.exec.threads : fovea_default_threads();
    if (workers > kMaxWorkers) workers = kMaxWorkers;
    if (workers > run.items) workers = static_cast<int32_t>(run.items);
  }
  const char* runner = nullptr;
  const int code = run_tasks(merge.exec, workers, run_worker, &run, &runner);
  const int32_t finished = run.finished_workers.load();
  if (code != 0) return fail(FOVEA_KERNEL_FAILED, "%s returned %d while merging", runner, code);
  if (finished == workers) return FOVEA_OK;
  return fail(FOVEA_KERNEL_FAILED, "%s ran %" PRId32 " of %" PRId32 " tasks of a merge", runner,
              finished, workers);
}

}  // namespace
}  // namespace fovea::detail

extern "C" fovea_status fovea_merge(const fovea_partial* parts, int64_t count,
                                    const fovea_partial* merged, const fovea_exec* exec) {
  using namespace fovea::detail;
  clear_message();
  Merge merge;
  const fovea_status status = check_merge(parts, count, merged, exec, &merge);
  return status != FOVEA_OK ? status : run_merge(merge);
}
