// SPDX-License-Identifier: Apache-2.0
#include "device_call.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "../views.h"
#include "../workspace.h"
#include "device_decode.h"
#include "device_work.h"

namespace fovea::detail {
namespace {

constexpr int kRow = 2;  // axis of a tensor
constexpr int kMostTensors = 4 + kExtraOutputCount + FOVEA_MAX_PARAMETERS + 1;

class Tensors {
 public:
  Tensors(const Problem& problem, DeviceCall* call) : problem_(problem), call_(call) {}
  ~Tensors() {
    for (int i = 0; i < count_; ++i) {
      if (placed_[i].bytes > 0) call_->driver->release(call_, placed_[i].memory);
    }
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Elements of a view on the device, copied there if the caller has them on the host.
  fovea_status place(const View& view, bool is_output, Placed* result);
  fovea_status copy_outputs();
  // Memory for so many bytes that nobody else sees: the caller's workspace, or with copies the
  // library's own.
  fovea_status place_workspace(size_t bytes, Placed* result);

 private:
  const Problem& problem_;
  DeviceCall* call_;
  Placed placed_[kMostTensors];
  int count_ = 0;
};

fovea_status Tensors::place(const View& view, bool is_output, Placed* result) {
  *result = {call_->page, 0, nullptr, 0, is_output};
  if (!has_elements(view)) return FOVEA_OK;
  if (problem_.exec.host_tensors == 0) {
    result->memory = reinterpret_cast<DeviceMemory>(view.data);
    return call_->driver->check_memory(call_, view.name, view.data);
  }
  int64_t low = 0;
  int64_t high = 0;
  if (!byte_reach(view, &low, &high))
    return fail(FOVEA_INVALID_ARGUMENT, "%s reaches outside of the address space", view.name);
  result->host = static_cast<unsigned char*>(const_cast<void*>(view.data)) + low;
  result->start = -low / view.element_size;
  result->bytes = static_cast<size_t>(high - low);
  fovea_status status = call_->driver->allocate(call_, result->bytes, &result->memory);
  if (status != FOVEA_OK) {
    result->bytes = 0;
    return status;
  }
  placed_[count_++] = *result;
  // Outputs too: what lies between their elements, and rows that are not written, stay as they are.
  return call_->driver->copy_in(call_, result->memory, result->host, result->bytes);
}

fovea_status Tensors::copy_outputs() {
  for (int i = 0; i < count_; ++i) {
    const Placed& p = placed_[i];
    if (!p.is_output) continue;
    const fovea_status status = call_->driver->copy_out(call_, p.host, p.memory, p.bytes);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

fovea_status Tensors::place_workspace(size_t bytes, Placed* result) {
  *result = {call_->page, 0, nullptr, 0, false};
  if (bytes == 0) return FOVEA_OK;
  if (problem_.exec.host_tensors == 0) {
    // A cl_mem is no address, and begins where it begins.
    result->memory = reinterpret_cast<DeviceMemory>(problem_.call.workspace);
    if (!problem_.has_opencl_memory())
      result->memory = (result->memory + kSliceAlignment - 1) / kSliceAlignment * kSliceAlignment;
    return call_->driver->check_memory(call_, "workspace", problem_.call.workspace);
  }
  const fovea_status status = call_->driver->allocate(call_, bytes, &result->memory);
  if (status != FOVEA_OK) return status;
  result->bytes = bytes;
  placed_[count_++] = *result;
  return FOVEA_OK;
}

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
    raise(&used.k, place_of_keys(problem, b).row + keys_of(problem, b));
  }
  return used;
}

fovea_status place_tensors(const Problem& problem, Tensors* tensors, DeviceWork* work) {
  const fovea_call& call = problem.call;
  const UsedRows used = used_rows(problem);
  const auto place = [&](const char* name, const fovea_tensor& tensor, int64_t rows, bool is_output,
                         Placed* placed) {
    View view = tensor_view(name, tensor);
    view.extent[kRow] = rows;
    return tensors->place(view, is_output, placed);
  };
  struct Item {
    const char* name;
    const fovea_tensor* tensor;
    int64_t rows;
    bool is_output;
    Placed* placed;
  };
  const Item items[] = {{"q.data", &call.q, used.q, false, &work->q},
                        {"k.data", &call.k, used.k, false, &work->k},
                        {"v.data", &call.v, used.k, false, &work->v},
                        {"out.data", &call.out, used.q, true, &work->out}};
  for (const Item& item : items) {
    const fovea_status status =
        place(item.name, *item.tensor, item.rows, item.is_output, item.placed);
    if (status != FOVEA_OK) return status;
  }
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& extra = kExtraOutputs[i];
    work->extra[i] = {work->call->page, kUnwantedStart / static_cast<int64_t>(sizeof(float)),
                      nullptr, 0, false};
    if (!is_wanted(call, extra)) continue;
    const fovea_status status = place(extra.name, call.*extra.field, used.q, true, &work->extra[i]);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

fovea_status place_tables(const Problem& problem, const void* params, Tensors* tensors,
                          DeviceWork* work) {
  fill_parameters(problem, params, &work->parameters);
  for (int32_t i = 0; i < problem.variant->parameter_count; ++i) {
    const fovea_parameter_info& info = problem.variant->parameters[i];
    if (info.kind != FOVEA_TABLE) continue;
    fovea_table table;
    memcpy(&table, static_cast<const char*>(params) + info.offset, sizeof(table));
    View view = {info.name, table.data, dtype_size(info.dtype), info.rank, {}, {}};
    for (int32_t axis = 0; axis < info.rank; ++axis) {
      view.extent[axis] = table.extent[axis];
      view.stride[axis] = table.stride[axis];
    }
    Placed placed;
    const fovea_status status = tensors->place(view, false, &placed);
    if (status != FOVEA_OK) return status;
    if (placed.start != 0)
      return fail(FOVEA_UNSUPPORTED,
                  "params.%s.stride: negative ones are supported on the CPU only", info.name);
    HalideBuffer& buffer = work->parameters.tables[i].buffer;
    buffer.device = placed.memory;
    buffer.device_interface = fovea_opencl_device_interface();
    buffer.host = nullptr;
    buffer.flags = kDeviceDirty;
  }
  return FOVEA_OK;
}

// One launch: `heads` heads of the sequences of a run.
int launch_prefill(const DeviceWork& work, const Run& run, int64_t first_head, int64_t heads) {
  RunInputs in(work, run.first);
  RunScalars s(*work.problem, run.first);
  RunOutputs outputs(work, run, first_head, heads);
  int32_t q_block = 0;
  auto head = static_cast<int32_t>(first_head);
  void* context = work.call;
  void* list[kMostArguments] = {&context,    &in.q.buffer,    &in.k.buffer, &in.v.buffer,
                                &in.q_start, &in.k_start,     &in.v_start,  &q_block,
                                &head,       &s.heads_per_kv, &s.batch,     &s.sequence,
                                &s.q_offset, &s.q_len,        &s.kv_len,    &s.scale};
  int count = add_parameters(work, list, 16);
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

fovea_status check_strides(const char* name, const fovea_tensor& tensor) {
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t stride = tensor.stride[axis];
    if (tensor.extent[axis] <= 1 || (stride >= INT32_MIN && stride <= INT32_MAX)) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s.stride[%d] = %" PRId64 ": supported by devices: %d to %d elements", name, axis,
                stride, INT32_MIN, INT32_MAX);
  }
  return FOVEA_OK;
}

// A cl_mem is no address, so nothing can lie in front of its first element.
fovea_status check_forward(const char* name, const fovea_tensor& tensor) {
  for (int axis = 0; axis < 3; ++axis) {
    if (tensor.extent[axis] <= 1 || tensor.stride[axis] >= 0) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s.stride[%d] = %" PRId64 ": supported in memory of an OpenCL device: 0 and more",
                name, axis, tensor.stride[axis]);
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
  const bool opencl_memory =
      problem.request.device == FOVEA_DEVICE_OPENCL && problem.exec.host_tensors == 0;
  if (opencl_memory && problem.exec.stream == nullptr)
    return fail(
        FOVEA_INVALID_ARGUMENT,
        "exec.stream is NULL: with memory of an OpenCL device it must be the cl_command_queue "
        "to run in");
  const struct {
    const char* name;
    const fovea_tensor* tensor;
  } tensors[] = {{"q", &call.q},
                 {"k", &call.k},
                 {"v", &call.v},
                 {"out", &call.out},
                 {"lse", &call.lse},
                 {"row_max", &call.row_max},
                 {"row_sum", &call.row_sum}};
  for (const auto& t : tensors) {
    if (t.tensor->data == nullptr) continue;
    fovea_status status = check_strides(t.name, *t.tensor);
    if (status == FOVEA_OK && opencl_memory) status = check_forward(t.name, *t.tensor);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
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
    if (status == FOVEA_OK) status = place_tables(problem, params, &tensors, &work);
    if (status == FOVEA_OK) status = launch_all(&work);
    if (status == FOVEA_OK) status = tensors.copy_outputs();
    if (problem.exec.host_tensors != 0) {
      // Also after a failure: nothing may still use the memory that is released now. The first
      // message stays.
      if (status == FOVEA_OK) {
        status = call.driver->wait(&call);
      } else {
        call.driver->settle(&call);
      }
    }
  }
  call.driver->end(&call);
  return status;
}

}  // namespace fovea::detail
