// SPDX-License-Identifier: Apache-2.0
#include "append.h"

#include "arguments.h"
#include "gpu/device_append.h"
#include "workers.h"

namespace fovea::detail {
namespace {

// Below this many numbers a second worker costs more than it saves.
constexpr int64_t kWorkerElements = 1 << 15;

// New keys whose slots lie next to each other in one page.
struct Run {
  int64_t b;
  int32_t first_key, rows;
  int64_t first_slot;
};

// The run that begins with a key, which has a slot.
Run run_at(const Append& append, int64_t b, const NewKeys& keys, int32_t key, int32_t block_rows) {
  const Problem& problem = append.problem;
  const Ring ring = ring_of(problem.cache, keys.end);
  Run run = {b, key, block_rows, key};
  int64_t limit = keys.end - key;
  if (key < keys.gap_begin && keys.gap_begin < keys.gap_end) {
    limit = keys.gap_begin - key;
  } else if (key >= ring.sinks) {
    run.first_slot = int64_t{ring.slot} + key - ring.begin;
    if (run.first_slot >= ring.end) run.first_slot -= ring.end - ring.sinks;
  }
  if (ring.end - run.first_slot < limit) limit = ring.end - run.first_slot;
  const int64_t page_size = int64_t{1} << problem.page_shift;
  const int64_t in_page = page_size - (run.first_slot & (page_size - 1));
  if (in_page < limit) limit = in_page;
  if (limit < run.rows) run.rows = static_cast<int32_t>(limit);
  return run;
}

// Goes through the runs of all sequences, in order.
class RunCursor {
 public:
  RunCursor(const Append& append, int32_t block_rows) : append_(append), block_rows_(block_rows) {}

  bool next(Run* run) {
    for (; b_ < append_.problem.batch; ++b_, is_begun_ = false) {
      if (!is_begun_) {
        keys_ = new_keys_of(append_, b_);
        key_ = keys_.begin;
        is_begun_ = true;
      }
      if (key_ >= keys_.gap_begin && key_ < keys_.gap_end) key_ = keys_.gap_end;
      if (key_ >= keys_.end) continue;
      *run = run_at(append_, b_, keys_, key_, block_rows_);
      key_ += run->rows;
      return true;
    }
    return false;
  }

 private:
  const Append& append_;
  const int32_t block_rows_;
  int64_t b_ = 0;
  bool is_begun_ = false;
  NewKeys keys_ = {};
  int32_t key_ = 0;
};

struct AppendWork : Work {
  const Append* append;
  Parameters parameters;
};

// Rows of scales where the cache has none: written, and never read.
void fill_unwanted_scales(RowBuffer* buffer, unsigned char* memory, int32_t rows) {
  buffer->dimensions[0] = {0, 1, 1, 0};
  buffer->dimensions[1] = {0, rows, 1, 0};
  buffer->buffer = {0, nullptr, memory, 0, halide_type(FOVEA_F16), 2, buffer->dimensions, nullptr};
}

int write_run(const AppendWork& work, const Run& run, int64_t kv_head_index,
              const WorkerSlice& slice) {
  const fovea_append& call = work.append->call;
  const Problem& problem = work.append->problem;
  const fovea_cache& cache = problem.cache;
  int32_t first_key = run.first_key;
  auto batch = static_cast<int32_t>(run.b);
  auto kv_head = static_cast<int32_t>(kv_head_index);
  const NewKeys new_keys = new_keys_of(*work.append, run.b);

  Place slot = {run.b, run.first_slot};
  if (problem.has_pages()) {
    const int64_t page_mask = (int64_t{1} << problem.page_shift) - 1;
    const int32_t* row = cache.block_table + run.b * cache.block_table_stride;
    slot = {row[run.first_slot >> problem.page_shift], run.first_slot & page_mask};
  }
  RowBuffer k_new, v_new, k, v, k_scale, v_scale;
  const Place rows = place_of_rows(problem, run.b);
  const int64_t first_row = first_key - new_keys.begin;
  fill_rows(&k_new, call.k_new, rows, kv_head, first_row, run.rows);
  fill_rows(&v_new, call.v_new, rows, kv_head, first_row, run.rows);
  fill_rows(&k, call.k, slot, kv_head, 0, run.rows);
  fill_rows(&v, call.v, slot, kv_head, 0, run.rows);

  fovea_scratch scratch = slice.scratch();
  void* user_context = &scratch;
  Arguments arguments;
  arguments.add(&user_context, &k_new.buffer, &v_new.buffer, &first_key, &batch, &kv_head);
  const bool quantised = is_quantised(problem.request.cache);
  int32_t k_group_shift = group_shift_of(problem.d_qk, 1);
  int32_t v_group_shift = k_group_shift;
  int32_t has_scales = cache.k_scale.data != nullptr ? 1 : 0;
  if (quantised) {
    if (has_scales != 0) {
      k_group_shift = group_shift_of(problem.d_qk, cache.k_scale.extent[3]);
      v_group_shift = group_shift_of(problem.d_v, cache.v_scale.extent[3]);
      fill_rows(&k_scale, cache.k_scale, slot, kv_head, 0, run.rows);
      fill_rows(&v_scale, cache.v_scale, slot, kv_head, 0, run.rows);
    } else {
      const UnwantedRows unwanted = slice.unwanted();
      fill_unwanted_scales(&k_scale, unwanted.memory, run.rows);
      fill_unwanted_scales(&v_scale, unwanted.memory + unwanted.step, run.rows);
    }
    arguments.add(&k_group_shift, &v_group_shift, &has_scales);
  }
  arguments.add_append_parameters(problem, work.parameters);
  arguments.add(&k.buffer, &v.buffer);
  if (quantised) arguments.add(&k_scale.buffer, &v_scale.buffer);
  return work.kernels[0]->run(arguments.list());
}

// Items in order: runs, and of each its KV heads.
void run_worker(Work* base, const WorkerSlice& slice) {
  const auto* work = static_cast<AppendWork*>(base);
  RunCursor cursor(*work->append, work->kernels[0]->block_rows);
  const int64_t kv_heads = work->problem->kv_heads;
  Run run = {};
  int64_t end = 0;  // of the items of `run`
  for (int64_t item; (item = take_item(base)) >= 0;) {
    for (; item >= end; end += kv_heads) {
      if (!cursor.next(&run)) return;
    }
    const int code = write_run(*work, run, item - (end - kv_heads), slice);
    if (code != 0) report_error(base, *work->kernels[0], code);
  }
}

fovea_status write(const Append& append, const fovea_kernel_info& kernel, const void* params,
                   int32_t default_threads) {
  const Problem& problem = append.problem;
  int64_t items = 0;
  int64_t tokens = 0;
  RunCursor cursor(append, kernel.block_rows);
  for (Run run; cursor.next(&run);) {
    items += problem.kv_heads;
    tokens += run.rows;
  }
  if (items == 0) return FOVEA_OK;
  const int64_t elements = tokens * problem.kv_heads * (problem.d_qk + problem.d_v);
  const int64_t worth = elements / kWorkerElements + 1;
  const bool has_unwanted =
      is_quantised(problem.request.cache) && problem.cache.k_scale.data == nullptr;
  WorkspacePlan plan;
  Workspace workspace;
  fovea_status status =
      plan_slices(problem.exec, needs_of(kernel, sizeof(uint16_t), has_unwanted ? 2 : 0),
                  items < worth ? items : worth, 0, default_threads, &plan);
  if (status == FOVEA_OK) status = acquire_workspace(problem, plan, &workspace);
  if (status != FOVEA_OK) return status;
  AppendWork work;
  start_work(&work, problem, &kernel, nullptr, plan, workspace);
  work.append = &append;
  work.items = items;
  work.run_worker = run_worker;
  fill_parameters(problem, params, &work.parameters);
  status = run_workers(&work);
  release_workspace(problem, workspace);
  return status;
}

}  // namespace

fovea_status run_append(const fovea_library_info* library, int32_t variant,
                        const fovea_append* call, const void* params, Capabilities capabilities,
                        int32_t default_threads) {
  fovea_status status = check_library(library, variant);
  if (status != FOVEA_OK) return status;
  Append append = {};
  status = check_append(*library, variant, call, &capabilities, &append);
  if (status != FOVEA_OK) return status;
  const bool on_device = append.problem.request.device != FOVEA_DEVICE_CPU;
  if (on_device) status = check_device_append(append);
  if (status != FOVEA_OK) return status;
  const Outputs outputs = append.problem.has_opencl_memory() ? Outputs() : outputs_of(append);
  status = check_parameters(append.problem, outputs, params);
  if (status != FOVEA_OK || append.problem.nothing_to_do) return status;
  const int32_t kernel = select_kernel(*library, append.problem.request, capabilities);
  if (kernel == kNoKernel)
    return fail_without_kernel(*library, append.problem.request, capabilities);
  if (on_device) return append_on_device(append, library->kernels[kernel], params);
  return write(append, library->kernels[kernel], params, default_threads);
}

}  // namespace fovea::detail
