// SPDX-License-Identifier: Apache-2.0
#include "device_call.h"

#include <inttypes.h>
#include <limits.h>

#include "../views.h"
#include "device_decode.h"
#include "device_tensors.h"

namespace fovea::detail {
namespace {

constexpr int kRow = 2;  // axis of a tensor
Run next_run(const Problem& problem, int64_t first) {
  Run run = {first, 1};
  if (problem.is_ragged()) return run;
  while (first + run.count < problem.batch && run.count < kMostBlocks &&
         rows_of(problem, first + run.count) == rows_of(problem, first) &&
         keys_of(problem, first + run.count) == keys_of(problem, first) &&
         offset_of(problem, first + run.count) == offset_of(problem, first))
    ++run.count;
  return run;
}

// Rows of a tensor up to the last one that a sequence has: those past it need not exist.
struct UsedRows {
  int64_t q, k;
};

UsedRows used_rows(const Problem& problem) {
  UsedRows used = {0, 0};
  const auto raise = [](int64_t* most, int64_t rows) { *most = rows > *most ? rows : *most; };
  for (int64_t b = 0; b < problem.batch; ++b) {
    raise(&used.q, place_of_rows(problem, b).row + rows_of(problem, b));
    raise(&used.k, problem.has_cache() ? used_slots(problem.cache, keys_of(problem, b))
                                       : place_of_keys(problem, b).row + keys_of(problem, b));
  }
  if (problem.has_pages()) used.k = problem.call.k.extent[kRow];
  return used;
}

fovea_status place_tensors(const Problem& problem, Tensors* tensors, DeviceWork* work) {
  const fovea_call& call = problem.call;
  const UsedRows used = used_rows(problem);
  struct Item {
    const char* name;
    const fovea_tensor* tensor;
    int64_t rows;
    bool is_output;
    Placed* placed;
  };
  const Item items[] = {
      {"q.data", &call.q, used.q, false, &work->q},
      {"k.data", &call.k, used.k, false, &work->k},
      {"v.data", &call.v, used.k, false, &work->v},
      {"cache.k_scale.data", &problem.cache.k_scale, used.k, false, &work->k_scale},
      {"cache.v_scale.data", &problem.cache.v_scale, used.k, false, &work->v_scale},
      {"out.data", &call.out, used.q, true, &work->out}};
  for (const Item& item : items) {
    const fovea_status status =
        tensors->place(item.name, *item.tensor, item.rows, item.is_output, item.placed);
    if (status != FOVEA_OK) return status;
  }
  const fovea_status table =
      tensors->place_block_table([&](int64_t b) { return keys_of(problem, b); }, &work->pages);
  if (table != FOVEA_OK) return table;
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& extra = kExtraOutputs[i];
    work->extra[i] = {work->call->page, kUnwantedStart / static_cast<int64_t>(sizeof(float)),
                      nullptr, 0, false};
    if (!is_wanted(call, extra)) continue;
    const fovea_status status =
        tensors->place(extra.name, call.*extra.field, used.q, true, &work->extra[i]);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

// One launch: `heads` heads of the sequences of a run.
int launch_prefill(const DeviceWork& work, const Run& run, int64_t first_head, int64_t heads) {
  RunInputs in(work, run.first);
  RunCache cache(work, keys_of(*work.problem, run.first));
  RunScalars s(*work.problem, run.first);
  RunOutputs outputs(work, run, first_head, heads);
  int32_t wide_reads = in.wide_reads(*work.problem);
  int32_t q_block = 0;
  auto head = static_cast<int32_t>(first_head);
  void* context = work.call;
  void* list[kMostArguments] = {
      &context,    &in.q.buffer, &in.k.buffer, &in.v.buffer,    &in.q_start, &in.k_start,
      &in.v_start, &q_block,     &head,        &s.heads_per_kv, &s.batch,    &s.sequence,
      &s.q_offset, &s.q_len,     &s.kv_len,    &s.scale,        &wide_reads};
  int count = cache.add(*work.problem, list, 17);
  count = add_parameters(work, list, count);
  count = outputs.add_starts(list, count);
  outputs.add_buffers(list, count);
  return work.prefill->run(list);
}

fovea_status launch_all(DeviceWork* work) {
  const Problem& problem = *work->problem;
  for (int64_t b = 0; b < problem.batch;) {
    const Run run = next_run(problem, b);
    b += run.count;
    if (rows_of(problem, run.first) == 0) continue;
    fovea_status status = FOVEA_OK;
    if (pass_of(problem, run.first) == FOVEA_DECODE) {
      status = launch_decode(work, run);
    } else {
      for (int64_t h = 0; status == FOVEA_OK && h < problem.q_heads; h += kMostBlocks) {
        const int64_t left = problem.q_heads - h;
        const int code = launch_prefill(*work, run, h, left < kMostBlocks ? left : kMostBlocks);
        status = status_of(*work, *work->prefill, code);
      }
    }
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status check_device_call(const Problem& problem) {
  const fovea_call& call = problem.call;
  if (call.probabilities.data != nullptr)
    return fail(FOVEA_UNSUPPORTED,
                "probabilities.data = %p: must be NULL, devices do not return them",
                call.probabilities.data);
  if (const fovea_status status = check_device_stream(problem); status != FOVEA_OK) return status;
  const struct {
    const char* name;
    const fovea_tensor* tensor;
  } tensors[] = {{"q", &call.q},
                 {"k", &call.k},
                 {"v", &call.v},
                 {"cache.k_scale", &problem.cache.k_scale},
                 {"cache.v_scale", &problem.cache.v_scale},
                 {"out", &call.out},
                 {"lse", &call.lse},
                 {"row_max", &call.row_max},
                 {"row_sum", &call.row_sum}};
  for (const auto& t : tensors) {
    const fovea_status status = check_device_tensor(problem, t.name, *t.tensor);
    if (status != FOVEA_OK) return status;
  }
  return check_device_cache(problem);
}

fovea_status plan_device_call(const Problem& problem, const PassKernels& kernels, size_t* bytes) {
  *bytes = 0;
  if (kernels[FOVEA_DECODE] == nullptr) return FOVEA_OK;
  const fovea_status status = plan_device_decode(problem, *kernels[FOVEA_DECODE], bytes);
  // From a base of any alignment.
  if (status == FOVEA_OK && *bytes > 0 && problem.exec.host_tensors == 0)
    *bytes += kSliceAlignment - 1;
  return status;
}

fovea_status run_on_device(const Problem& problem, const void* params, const PassKernels& kernels) {
  DeviceCall call = {};
  call.driver = &driver_of(problem.request.device);
  call.stream = problem.exec.stream;
  fovea_status status =
      call.driver->begin(&call, problem.exec.host_tensors != 0 ? nullptr : problem.call.q.data);
  if (status != FOVEA_OK) return status;
  {
    Tensors tensors(problem, &call);
    DeviceWork work;
    work.problem = &problem;
    work.prefill = kernels[FOVEA_PREFILL];
    work.decode = kernels[FOVEA_DECODE];
    work.call = &call;
    size_t record_bytes = 0;
    status = plan_device_call(problem, kernels, &record_bytes);
    if (status == FOVEA_OK) status = place_tensors(problem, &tensors, &work);
    if (status == FOVEA_OK) status = tensors.place_workspace(record_bytes, &work.records);
    if (status == FOVEA_OK) status = tensors.place_tables(params, UINT32_MAX, &work.parameters);
    if (status == FOVEA_OK) status = launch_all(&work);
    status = tensors.finish(status);
  }
  call.driver->end(&call);
  return status;
}

}  // namespace fovea::detail
