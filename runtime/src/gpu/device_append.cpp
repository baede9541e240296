// SPDX-License-Identifier: Apache-2.0
#include "device_append.h"

#include <limits.h>

#include <initializer_list>

#include "../arguments.h"
#include "device_tensors.h"

namespace fovea::detail {
namespace {

// A tensor that is written, as kernels are told of it.
struct Written {
  const fovea_tensor* tensor;
  Placed placed;
  int64_t start;
  int32_t elements, slot_stride, page_stride, head_stride;
  Buffer<2> buffer;

  void describe() {
    const int shift = features_shift(*tensor);
    start = placed.start;
    elements = static_cast<int32_t>(tensor->extent[3] >> shift);
    slot_stride = stride_of(*tensor, 2) >> shift;
    page_stride = stride_of(*tensor, 0) >> shift;
    head_stride = stride_of(*tensor, 1) >> shift;
    buffer.dimensions[0] = {0, elements, 1, 0};
    // Kernels put offsets of their own here.
    buffer.dimensions[1] = {0, INT32_MAX, 1, 0};
    describe_buffer(&buffer, placed, device_type(tensor->dtype));
  }
};
constexpr int kMostWritten = 4;

struct AppendWork {
  const Append* append;
  const fovea_kernel_info* kernel;
  DeviceWork shared;  // block table, parameters
  Placed k_new, v_new;
  Written written[kMostWritten];
  int written_count;
};

// Sequences with as many new tokens and as many keys before.
Run next_run(const Append& append, int64_t first) {
  const Problem& problem = append.problem;
  Run run = {first, 1};
  if (problem.is_ragged()) return run;
  const NewKeys keys = new_keys_of(append, first);
  for (; first + run.count < problem.batch && run.count < kMostBlocks; ++run.count) {
    const NewKeys next = new_keys_of(append, first + run.count);
    if (next.begin != keys.begin || next.end != keys.end) break;
  }
  return run;
}

fovea_status place_all(AppendWork* work, Tensors* tensors, const void* params) {
  const fovea_append& call = work->append->call;
  const Problem& problem = work->append->problem;
  int64_t rows = 0;
  int64_t slots = 0;
  for (int64_t b = 0; b < problem.batch; ++b) {
    const NewKeys keys = new_keys_of(*work->append, b);
    const int64_t end = place_of_rows(problem, b).row + keys.end - keys.begin;
    const int64_t used = used_slots(problem.cache, keys.end);
    rows = end > rows ? end : rows;
    slots = used > slots ? used : slots;
  }
  if (problem.has_pages()) slots = call.k.extent[2];
  fovea_status status = tensors->place("k_new.data", call.k_new, rows, false, &work->k_new);
  if (status == FOVEA_OK)
    status = tensors->place("v_new.data", call.v_new, rows, false, &work->v_new);
  const struct {
    const char* name;
    const fovea_tensor* tensor;
  } written[kMostWritten] = {{"k.data", &call.k},
                             {"v.data", &call.v},
                             {"cache.k_scale.data", &problem.cache.k_scale},
                             {"cache.v_scale.data", &problem.cache.v_scale}};
  work->written_count = is_quantised(problem.request.cache) ? kMostWritten : 2;
  for (int i = 0; status == FOVEA_OK && i < work->written_count; ++i) {
    Written& w = work->written[i];
    w.tensor = written[i].tensor;
    status = tensors->place(written[i].name, *w.tensor, slots, true, &w.placed);
    w.describe();
    // Of scales that are not there nothing is written.
    if (w.tensor->data == nullptr) w.elements = 0;
  }
  if (status == FOVEA_OK)
    status = tensors->place_block_table(
        [&](int64_t b) { return new_keys_of(*work->append, b).end; }, &work->shared.pages);
  if (status == FOVEA_OK)
    status =
        tensors->place_tables(params, problem.variant->append_parameters, &work->shared.parameters);
  return status;
}

// (feature, row, KV head, sequence) from the first row of a run on.
void fill_new(Buffer<4>* b, const fovea_tensor& tensor, const Placed& placed, Place first,
              int64_t rows, int64_t sequences, int64_t* start) {
  *start = placed.start + first.row * stride_of(tensor, 2);
  b->dimensions[0] = {0, static_cast<int32_t>(tensor.extent[3]), 1, 0};
  b->dimensions[1] = {0, static_cast<int32_t>(rows), stride_of(tensor, 2), 0};
  b->dimensions[2] = {0, static_cast<int32_t>(tensor.extent[1]), stride_of(tensor, 1), 0};
  b->dimensions[3] = {0, static_cast<int32_t>(sequences), stride_of(tensor, 0), 0};
  describe_buffer(b, placed, device_type(tensor.dtype));
}

int launch(AppendWork* work, const Run& run, int64_t first_head, int64_t head_count) {
  const fovea_append& call = work->append->call;
  const Problem& problem = work->append->problem;
  const NewKeys keys = new_keys_of(*work->append, run.first);
  const Place first = place_of_rows(problem, run.first);
  int32_t rows = keys.end - keys.begin;
  Buffer<4> k_new;
  Buffer<4> v_new;
  int64_t k_new_start = 0;
  int64_t v_new_start = 0;
  fill_new(&k_new, call.k_new, work->k_new, first, rows, problem.batch, &k_new_start);
  fill_new(&v_new, call.v_new, work->v_new, first, rows, problem.batch, &v_new_start);
  RunCache cache(work->shared, keys.end);
  int32_t first_key = keys.begin;
  auto kv_head = static_cast<int32_t>(first_head);
  auto batch = static_cast<int32_t>(run.first);
  auto sequence = static_cast<int32_t>(first.b);
  auto heads = static_cast<int32_t>(head_count);
  auto sequences = static_cast<int32_t>(run.count);
  void* context = work->shared.call;
  void* list[kMostArguments] = {&context,     &k_new.buffer, &v_new.buffer, &k_new_start,
                                &v_new_start, &first_key,    &kv_head,      &batch,
                                &sequence,    &rows,         &heads,        &sequences};
  int count = cache.add_places(list, 12);
  int32_t has_scales = problem.cache.k_scale.data != nullptr ? 1 : 0;
  int32_t k_group_shift =
      group_shift_of(problem.d_qk, has_scales != 0 ? problem.cache.k_scale.extent[3] : 1);
  int32_t v_group_shift =
      group_shift_of(problem.d_v, has_scales != 0 ? problem.cache.v_scale.extent[3] : 1);
  if (is_quantised(problem.request.cache)) {
    for (int32_t* scalar : {&k_group_shift, &v_group_shift, &has_scales}) list[count++] = scalar;
  }
  for (int32_t i = 0; i < problem.variant->parameter_count; ++i) {
    if (((problem.variant->append_parameters >> i) & 1) != 0)
      list[count++] = work->shared.parameters.arguments[i];
  }
  for (int i = 0; i < work->written_count; ++i) {
    Written& w = work->written[i];
    list[count++] = &w.start;
    for (int32_t* scalar : {&w.elements, &w.slot_stride, &w.page_stride, &w.head_stride})
      list[count++] = scalar;
  }
  for (int i = 0; i < work->written_count; ++i) list[count++] = &work->written[i].buffer.buffer;
  return work->kernel->run(list);
}

fovea_status launch_all(AppendWork* work) {
  const Problem& problem = work->append->problem;
  for (int64_t b = 0; b < problem.batch;) {
    const Run run = next_run(*work->append, b);
    b += run.count;
    if (rows_of(problem, run.first) == 0) continue;
    for (int64_t h = 0; h < problem.kv_heads; h += kMostBlocks) {
      const int64_t left = problem.kv_heads - h;
      const int code = launch(work, run, h, left < kMostBlocks ? left : kMostBlocks);
      const fovea_status status = status_of(work->shared, *work->kernel, code);
      if (status != FOVEA_OK) return status;
    }
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status check_device_append(const Append& append) {
  const fovea_append& call = append.call;
  const Problem& problem = append.problem;
  if (const fovea_status status = check_device_stream(problem); status != FOVEA_OK) return status;
  const struct {
    const char* name;
    const fovea_tensor* tensor;
  } tensors[] = {{"k_new", &call.k_new},
                 {"v_new", &call.v_new},
                 {"k", &call.k},
                 {"v", &call.v},
                 {"cache.k_scale", &problem.cache.k_scale},
                 {"cache.v_scale", &problem.cache.v_scale}};
  for (const auto& t : tensors) {
    const fovea_status status = check_device_tensor(problem, t.name, *t.tensor);
    if (status != FOVEA_OK) return status;
  }
  return check_device_cache(problem);
}

fovea_status append_on_device(const Append& append, const fovea_kernel_info& kernel,
                              const void* params) {
  const Problem& problem = append.problem;
  DeviceCall call = {};
  call.driver = &driver_of(problem.request.device);
  call.stream = problem.exec.stream;
  fovea_status status =
      call.driver->begin(&call, problem.exec.host_tensors != 0 ? nullptr : append.call.k_new.data);
  if (status != FOVEA_OK) return status;
  {
    Tensors tensors(problem, &call);
    AppendWork work;
    work.append = &append;
    work.kernel = &kernel;
    work.shared.problem = &problem;
    work.shared.call = &call;
    status = place_all(&work, &tensors, params);
    if (status == FOVEA_OK) status = launch_all(&work);
    status = tensors.finish(status);
  }
  call.driver->end(&call);
  return status;
}

}  // namespace fovea::detail
