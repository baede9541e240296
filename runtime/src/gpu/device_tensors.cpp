// SPDX-License-Identifier: Apache-2.0
#include "device_tensors.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "../workspace.h"

namespace fovea::detail {
namespace {

constexpr int kRow = 2;  // axis of a tensor

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

Tensors::~Tensors() {
  for (int i = 0; i < count_; ++i) {
    if (placed_[i].bytes > 0) call_->driver->release(call_, placed_[i].memory);
  }
}

fovea_status Tensors::place(const View& view, bool is_output, Placed* result) {
  *result = {call_->page, 0, nullptr, 0, is_output};
  // Scales that are not there may have extents.
  if (view.data == nullptr || !has_elements(view)) return FOVEA_OK;
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

fovea_status Tensors::place(const char* name, const fovea_tensor& tensor, int64_t rows,
                            bool is_output, Placed* result) {
  View view = tensor_view(name, tensor);
  view.extent[kRow] = rows;
  return place(view, is_output, result);
}

fovea_status Tensors::place_entries_(int64_t low, int64_t high, Placed* result) {
  *result = {call_->page, 0, nullptr, 0, false};
  if (low == high) return FOVEA_OK;
  if (problem_.has_device_memory()) low = 0;  // no address to count from
  const View view = {
      "cache.block_table", problem_.cache.block_table + low, sizeof(int32_t), 1, {high - low}, {1}};
  const fovea_status status = place(view, false, result);
  result->start -= low;
  return status;
}

fovea_status Tensors::place_tables(const void* params, uint32_t which, Parameters* parameters) {
  fill_parameters(problem_, params, parameters);
  for (int32_t i = 0; i < problem_.variant->parameter_count; ++i) {
    const fovea_parameter_info& info = problem_.variant->parameters[i];
    if (info.kind != FOVEA_TABLE || ((which >> i) & 1) == 0) continue;
    fovea_table table;
    memcpy(&table, static_cast<const char*>(params) + info.offset, sizeof(table));
    View view = {info.name, table.data, dtype_size(info.dtype), info.rank, {}, {}};
    for (int32_t axis = 0; axis < info.rank; ++axis) {
      view.extent[axis] = table.extent[axis];
      view.stride[axis] = table.stride[axis];
    }
    Placed placed;
    const fovea_status status = place(view, false, &placed);
    if (status != FOVEA_OK) return status;
    if (placed.start != 0)
      return fail(FOVEA_UNSUPPORTED,
                  "params.%s.stride: negative ones are supported on the CPU only", info.name);
    HalideBuffer& buffer = parameters->tables[i].buffer;
    buffer.device = placed.memory;
    buffer.device_interface = fovea_opencl_device_interface();
    buffer.host = nullptr;
    buffer.flags = kDeviceDirty;
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

fovea_status Tensors::copy_outputs_() {
  for (int i = 0; i < count_; ++i) {
    const Placed& p = placed_[i];
    if (!p.is_output) continue;
    const fovea_status status = call_->driver->copy_out(call_, p.host, p.memory, p.bytes);
    if (status != FOVEA_OK) return status;
  }
  return FOVEA_OK;
}

fovea_status Tensors::finish(fovea_status status) {
  if (problem_.exec.host_tensors == 0) return status;
  if (status == FOVEA_OK) status = copy_outputs_();
  // Also after a failure: nothing may still use the memory that is released next.
  if (status == FOVEA_OK) return call_->driver->wait(call_);
  call_->driver->settle(call_);
  return status;
}

fovea_status check_device_stream(const Problem& problem) {
  if (!problem.has_opencl_memory() || problem.exec.stream != nullptr) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "exec.stream is NULL: with memory of an OpenCL device it must be the "
              "cl_command_queue to run in");
}

fovea_status check_device_tensor(const Problem& problem, const char* name,
                                 const fovea_tensor& tensor) {
  if (tensor.data == nullptr) return FOVEA_OK;
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t stride = tensor.stride[axis];
    if (tensor.extent[axis] <= 1 || (stride >= INT32_MIN && stride <= INT32_MAX)) continue;
    return fail(FOVEA_UNSUPPORTED,
                "%s.stride[%d] = %" PRId64 ": supported by devices: %d to %d elements", name, axis,
                stride, INT32_MIN, INT32_MAX);
  }
  return problem.has_opencl_memory() ? check_forward(name, tensor) : FOVEA_OK;
}

fovea_status check_device_cache(const Problem& problem) {
  const fovea_cache& cache = problem.cache;
  if (!problem.has_device_memory() || !problem.has_pages()) return FOVEA_OK;
  if (problem.has_opencl_memory()) {
    if (problem.batch <= 1 || cache.block_table_stride >= 0) return FOVEA_OK;
    return fail(FOVEA_UNSUPPORTED,
                "cache.block_table_stride = %" PRId64
                ": supported in memory of an OpenCL device: 0 and more",
                cache.block_table_stride);
  }
  if (reinterpret_cast<uintptr_t>(cache.block_table) % sizeof(int32_t) == 0) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "cache.block_table = %p: must be a multiple of the size of an entry, %zu bytes",
              static_cast<const void*>(cache.block_table), sizeof(int32_t));
}

}  // namespace fovea::detail
