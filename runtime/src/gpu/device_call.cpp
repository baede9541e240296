// SPDX-License-Identifier: Apache-2.0
#include "device_call.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "../buffers.h"
#include "../sequences.h"
#include "../views.h"
#include "device.h"

namespace fovea::detail {
namespace {

constexpr int64_t kMostBlocks = 65535;  // along y and z
constexpr int kRow = 2;                 // axis of a tensor
constexpr int kMostTensors = 4 + kExtraOutputCount + FOVEA_MAX_PARAMETERS;
constexpr uint64_t kDeviceDirty = 2;  // the data of a HalideBuffer is what the device has

// A tensor or table as a device sees it. With copies, `host` is the lowest byte of it.
struct Placed {
  DeviceMemory memory;
  int64_t start;  // element (0, 0, 0, 0)
  unsigned char* host;
  size_t bytes;
  bool is_output;
};

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

int32_t stride_of(const fovea_tensor& tensor, int axis) {
  return tensor.extent[axis] > 1 ? static_cast<int32_t>(tensor.stride[axis]) : 0;
}

void describe_buffer(Buffer<4>* b, const Placed& placed, HalideType type) {
  b->buffer = {
      placed.memory, fovea_opencl_device_interface(), nullptr, kDeviceDirty, type, 4, b->dimensions,
      nullptr};
}

HalideType element_type(fovea_dtype dtype) {
  // 16-bit elements travel as integers.
  return dtype == FOVEA_F32 ? HalideType{kHalideFloat, 32, 1} : HalideType{kHalideUInt, 16, 1};
}

// (feature, row, head, sequence), with these extents in the last three.
void fill_tensor(Buffer<4>* b, const fovea_tensor& tensor, const Placed& placed, int64_t rows,
                 int64_t heads, int64_t sequences) {
  const auto features = static_cast<int32_t>(tensor.extent[3]);
  b->dimensions[0] = {0, features, 1, 0};
  b->dimensions[1] = {0, static_cast<int32_t>(rows), stride_of(tensor, 2), 0};
  b->dimensions[2] = {0, static_cast<int32_t>(heads), stride_of(tensor, 1), 0};
  b->dimensions[3] = {0, static_cast<int32_t>(sequences), stride_of(tensor, 0), 0};
  describe_buffer(b, placed, element_type(tensor.dtype));
}

// Sequences next to each other that have the same lengths and position.
struct Run {
  int64_t first, count;
};

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

// Everything that the launches of a call share.
struct DeviceWork {
  const Problem* problem;
  const fovea_kernel_info* kernel;
  DeviceCall* call;
  Parameters parameters;
  Placed q, k, v, out, extra[kExtraOutputCount];
};

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
int launch(DeviceWork* work, const Run& run, int64_t first_head, int64_t heads) {
  const Problem& problem = *work->problem;
  const fovea_call& call = problem.call;
  const int64_t b = run.first;
  int32_t q_block = 0;
  auto head = static_cast<int32_t>(first_head);
  auto heads_per_kv = static_cast<int32_t>(problem.q_heads / problem.kv_heads);
  auto batch = static_cast<int32_t>(b);
  int32_t sequence = problem.is_ragged() ? 0 : batch;
  int32_t q_offset = offset_of(problem, b);
  int32_t q_len = rows_of(problem, b);
  int32_t kv_len = keys_of(problem, b);
  float scale = problem.scale;

  const Place rows = place_of_rows(problem, b);
  const Place keys = place_of_keys(problem, b);
  int64_t q_start = work->q.start + rows.row * stride_of(call.q, 2);
  int64_t k_start = work->k.start + keys.row * stride_of(call.k, 2);
  int64_t v_start = work->v.start + keys.row * stride_of(call.v, 2);
  int64_t starts[1 + kExtraOutputCount];
  const auto output_start = [&](const fovea_tensor& tensor, const Placed& placed) {
    return placed.start + rows.b * stride_of(tensor, 0) + first_head * stride_of(tensor, 1) +
           rows.row * stride_of(tensor, 2);
  };

  Buffer<4> q, k, v, out, extra[kExtraOutputCount];
  fill_tensor(&q, call.q, work->q, q_len, problem.q_heads, problem.batch);
  fill_tensor(&k, call.k, work->k, kv_len, problem.kv_heads, problem.batch);
  fill_tensor(&v, call.v, work->v, kv_len, problem.kv_heads, problem.batch);
  fill_tensor(&out, call.out, work->out, q_len, heads, run.count);
  void* context = work->call;
  void* list[64 + FOVEA_MAX_PARAMETERS] = {
      &context, &q.buffer,     &k.buffer, &v.buffer, &q_start,  &k_start, &v_start, &q_block,
      &head,    &heads_per_kv, &batch,    &sequence, &q_offset, &q_len,   &kv_len,  &scale};
  int count = 16;
  for (int32_t i = 0; i < problem.variant->parameter_count; ++i)
    list[count++] = work->parameters.arguments[i];
  starts[0] = output_start(call.out, work->out);
  list[count++] = &starts[0];
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& output = kExtraOutputs[i];
    if ((problem.variant->outputs & output.bit) == 0 || output.is_per_key) continue;
    const fovea_tensor& tensor = call.*output.field;
    const bool wanted = is_wanted(call, output);
    starts[1 + i] = wanted ? output_start(tensor, work->extra[i]) : work->extra[i].start;
    list[count++] = &starts[1 + i];
    // One number a row, however many features ask for its place; all rows to one, if not wanted.
    extra[i].dimensions[0] = {0, static_cast<int32_t>(problem.d_v), 0, 0};
    for (int axis = 1; axis < 4; ++axis) {
      extra[i].dimensions[axis] = out.dimensions[axis];
      extra[i].dimensions[axis].stride = wanted ? stride_of(tensor, 3 - axis) : 0;
    }
    describe_buffer(&extra[i], work->extra[i], element_type(FOVEA_F32));
  }
  list[count++] = &out.buffer;
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& output = kExtraOutputs[i];
    if ((problem.variant->outputs & output.bit) != 0 && !output.is_per_key)
      list[count++] = &extra[i].buffer;
  }
  return work->kernel->run(list);
}

fovea_status launch_all(DeviceWork* work) {
  const Problem& problem = *work->problem;
  for (int64_t b = 0; b < problem.batch;) {
    const Run run = next_run(problem, b);
    b += run.count;
    if (rows_of(problem, run.first) == 0) continue;
    for (int64_t h = 0; h < problem.q_heads; h += kMostBlocks) {
      const int64_t left = problem.q_heads - h;
      const int code = launch(work, run, h, left < kMostBlocks ? left : kMostBlocks);
      // Kernels are compiled without checks, and do not hand on what the driver said.
      if (work->call->status != FOVEA_OK) return work->call->status;
      if (code == 0) continue;
      return fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d", work->kernel->name,
                  code);
    }
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

fovea_status run_on_device(const Problem& problem, const void* params,
                           const fovea_kernel_info& kernel) {
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
    work.kernel = &kernel;
    work.call = &call;
    status = place_tensors(problem, &tensors, &work);
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
