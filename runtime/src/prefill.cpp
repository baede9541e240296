// SPDX-License-Identifier: Apache-2.0
#include "prefill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "halide_abi.h"

namespace fovea::detail {
namespace {

constexpr size_t kSliceAlignment = 64;  // a cache line: workers share none
constexpr int32_t kMaxWorkers = 1024;   // bounds the workspace whatever exec.threads says

// What an empty buffer points at; never read (see HalideBuffer).
alignas(kSliceAlignment) constexpr unsigned char kNothing[kSliceAlignment] = {};
uint8_t* nothing() { return const_cast<uint8_t*>(kNothing); }

struct TableBuffer {
  HalideBuffer buffer;
  HalideDimension dimensions[4];
};

// 12 fixed arguments, parameters, out, lse; see fovea_kernel_info.
constexpr int kFixedArguments = 12;
constexpr int kMaxArguments = kFixedArguments + FOVEA_MAX_PARAMETERS + 2;

// One call, shared by its workers.
struct Run {
  const Problem* problem;
  const fovea_kernel_info* kernel;
  const WorkspacePlan* plan;
  unsigned char* slices;
  void* parameters[FOVEA_MAX_PARAMETERS];
  TableBuffer tables[FOVEA_MAX_PARAMETERS];
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

HalideType halide_type(fovea_dtype dtype) {
  switch (dtype) {
    case FOVEA_F32:
      return {kHalideFloat, 32, 1};
    case FOVEA_F16:
      return {kHalideFloat, 16, 1};
    case FOVEA_BF16:
      return {kHalideBFloat, 16, 1};
    case FOVEA_I32:
      return {kHalideInt, 32, 1};
    case FOVEA_I8:
      return {kHalideInt, 8, 1};
    case FOVEA_U8:
      break;
  }
  return {kHalideUInt, 8, 1};
}

struct RowBuffer {
  HalideBuffer buffer;
  HalideDimension dimensions[2];
};

// Rows [first_row, first_row + rows) of one head as a buffer of (feature, row).
void fill_rows(RowBuffer* rows_buffer, const fovea_tensor& tensor, int64_t b, int64_t head,
               int64_t first_row, int32_t rows) {
  const auto features = static_cast<int32_t>(tensor.extent[3]);
  uint8_t* host = nothing();
  if (rows > 0 && features > 0) {
    // Strides of axes with one element mean nothing and may be anything: index 0 times a stride is
    // 0. All other products have been checked to fit.
    const int64_t elements =
        b * tensor.stride[0] + head * tensor.stride[1] + first_row * tensor.stride[2];
    host = static_cast<uint8_t*>(tensor.data) + elements * dtype_size(tensor.dtype);
  }
  // One row has no stride to speak of; features keeps it valid for any check a kernel makes.
  const int32_t row_stride =
      tensor.extent[2] > 1 ? static_cast<int32_t>(tensor.stride[2]) : features;
  rows_buffer->dimensions[0] = {0, features, 1, 0};
  rows_buffer->dimensions[1] = {0, rows, row_stride, 0};
  rows_buffer->buffer = {
      0, nullptr, host, 0, halide_type(tensor.dtype), 2, rows_buffer->dimensions, nullptr};
}

// LSE rows of one head as a buffer of (row).
void fill_lse(RowBuffer* lse_buffer, const fovea_tensor& tensor, float* unwanted, int64_t b,
              int64_t head, int64_t first_row, int32_t rows) {
  auto* host = reinterpret_cast<uint8_t*>(unwanted);
  int32_t stride = 1;
  if (tensor.data != nullptr) {
    const int64_t elements =
        b * tensor.stride[0] + head * tensor.stride[1] + first_row * tensor.stride[2];
    host = static_cast<uint8_t*>(tensor.data) + elements * dtype_size(FOVEA_F32);
    if (tensor.extent[2] > 1) stride = static_cast<int32_t>(tensor.stride[2]);
  }
  lse_buffer->dimensions[0] = {0, rows, stride, 0};
  lse_buffer->buffer = {0,      nullptr, host, 0, halide_type(FOVEA_F32), 1, lse_buffer->dimensions,
                        nullptr};
}

void fill_table(TableBuffer* table_buffer, const fovea_parameter_info& info,
                const fovea_table& table) {
  bool empty = false;
  for (int32_t axis = 0; axis < info.rank; ++axis) empty = empty || table.extent[axis] == 0;
  for (int32_t axis = 0; axis < info.rank; ++axis) {
    // An index clamped into an empty axis is no index: an empty table is one zero, of which no
    // result depends.
    const auto extent = empty ? 1 : static_cast<int32_t>(table.extent[axis]);
    const auto stride = extent > 1 ? static_cast<int32_t>(table.stride[axis]) : 0;
    table_buffer->dimensions[axis] = {0, extent, stride, 0};
  }
  uint8_t* host = empty ? nothing() : static_cast<uint8_t*>(const_cast<void*>(table.data));
  table_buffer->buffer = {
      0, nullptr, host, 0, halide_type(info.dtype), info.rank, table_buffer->dimensions, nullptr};
}

// Items in order: row blocks from the last to the first (under a causal mask the longest come
// first), sequences, heads (neighbours share K and V). Blocks past the end of a sequence are no
// items. A worker's items have rising indices, so its cursor only ever walks forward.
class Cursor {
 public:
  Cursor(const Problem& problem, const fovea_kernel_info& kernel)
      : problem_(problem), kernel_(kernel), block_(blocks_of(problem.q_rows, kernel) - 1) {}

  void advance_to(int64_t item) {
    while (item - first_ >= heads_here()) {
      first_ += heads_here();
      if (++b_ == problem_.batch) {
        b_ = 0;
        --block_;
      }
    }
    head_ = item - first_;
  }
  int64_t block() const { return block_; }
  int64_t b() const { return b_; }
  int64_t head() const { return head_; }

 private:
  int64_t heads_here() const {
    return block_ * kernel_.block_rows < rows_of(problem_, b_) ? problem_.q_heads : 0;
  }

  const Problem& problem_;
  const fovea_kernel_info& kernel_;
  int64_t block_;
  int64_t b_ = 0;
  int64_t head_ = 0;
  int64_t first_ = 0;  // index of the first item of (block_, b_)
};

int run_item(const Run& run, const Cursor& item, fovea_scratch* scratch, float* unwanted_lse) {
  const Problem& problem = *run.problem;
  const fovea_call& call = problem.call;
  int64_t first_row = item.block() * run.kernel->block_rows;
  auto q_block = static_cast<int32_t>(item.block());
  int32_t q_len = rows_of(problem, item.b());
  int32_t kv_len = keys_of(problem, item.b());
  int32_t q_offset = offset_of(problem, item.b());
  auto batch = static_cast<int32_t>(item.b());
  auto head = static_cast<int32_t>(item.head());
  auto kv_head = static_cast<int32_t>(item.head() / (problem.q_heads / problem.kv_heads));
  float scale = problem.scale;
  const int64_t left = q_len - first_row;
  const int32_t rows =
      left < run.kernel->block_rows ? static_cast<int32_t>(left) : run.kernel->block_rows;

  RowBuffer q;
  RowBuffer k;
  RowBuffer v;
  RowBuffer out;
  RowBuffer lse;
  fill_rows(&q, call.q, batch, head, first_row, rows);
  fill_rows(&k, call.k, batch, kv_head, 0, kv_len);
  fill_rows(&v, call.v, batch, kv_head, 0, kv_len);
  fill_rows(&out, call.out, batch, head, first_row, rows);

  void* user_context = scratch;
  void* arguments[kMaxArguments] = {&user_context, &q.buffer, &k.buffer, &v.buffer,
                                    &q_block,      &q_offset, &q_len,    &kv_len,
                                    &batch,        &head,     &kv_head,  &scale};
  int count = kFixedArguments;
  for (int32_t i = 0; i < problem.variant->parameter_count; ++i)
    arguments[count++] = run.parameters[i];
  arguments[count++] = &out.buffer;
  if (problem.variant->returns_lse != 0) {
    fill_lse(&lse, call.lse, unwanted_lse, batch, head, first_row, rows);
    arguments[count++] = &lse.buffer;
  }
  return run.kernel->run(arguments);
}

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
    cursor.advance_to(item);
    fovea_scratch scratch = {memory + run->plan->lse_bytes,
                             run->plan->slice_bytes - run->plan->lse_bytes, 0, nullptr};
    const int code = run_item(*run, cursor, &scratch, reinterpret_cast<float*>(memory));
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
  } else {
    code = fovea_halide_do_par_for(nullptr, halide_task, 0, run->workers,
                                   reinterpret_cast<uint8_t*>(run));
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
  const bool unwanted_lse = problem.variant->returns_lse != 0 && problem.call.lse.data == nullptr;
  plan->lse_bytes =
      unwanted_lse ? round_up(static_cast<size_t>(kernel.block_rows) * sizeof(float)) : 0;
  if (kernel.scratch_bytes > SIZE_MAX - plan->lse_bytes - 2 * kSliceAlignment) {
    return fail(FOVEA_OUT_OF_MEMORY, "kernel %s needs %zu bytes of scratch for each worker",
                kernel.name, kernel.scratch_bytes);
  }
  plan->slice_bytes = plan->lse_bytes + round_up(kernel.scratch_bytes);
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

  for (int32_t i = 0; i < problem.variant->parameter_count; ++i) {
    const fovea_parameter_info& info = problem.variant->parameters[i];
    // Kernels take every argument as void* and write to outputs only.
    char* field = const_cast<char*>(static_cast<const char*>(params)) + info.offset;
    run.parameters[i] = field;
    if (info.kind != FOVEA_TABLE) continue;
    fovea_table table;
    memcpy(&table, field, sizeof(table));
    fill_table(&run.tables[i], info, table);
    run.parameters[i] = &run.tables[i].buffer;
  }

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
