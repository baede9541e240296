// SPDX-License-Identifier: Apache-2.0
#include "device_work.h"

namespace fovea::detail {
namespace {

constexpr int kSlotDimensions = 5;  // of a cache, with one for offsets that kernels compute

// (feature, row, head, sequence), with these extents in the last three.
template <int rank>
void fill_tensor(Buffer<rank>* b, const fovea_tensor& tensor, const Placed& placed, int64_t rows,
                 int64_t heads, int64_t sequences) {
  const auto features = static_cast<int32_t>(tensor.extent[3]);
  b->dimensions[0] = {0, features, 1, 0};
  b->dimensions[1] = {0, static_cast<int32_t>(rows), stride_of(tensor, 2), 0};
  b->dimensions[2] = {0, static_cast<int32_t>(heads), stride_of(tensor, 1), 0};
  b->dimensions[3] = {0, static_cast<int32_t>(sequences), stride_of(tensor, 0), 0};
  describe_buffer(b, placed, device_type(tensor.dtype), 4);
}

// Whether every row of a tensor begins at a multiple of that. A cl_mem does, and its number is no
// address.
template <int rank>
bool has_aligned_rows(const Problem& problem, const Buffer<rank>& b, int64_t start) {
  const int64_t size = b.buffer.type.bits / 8;
  const bool is_address = problem.request.device != FOVEA_DEVICE_OPENCL;
  if (is_address && b.buffer.device % FOVEA_WIDE_READ != 0) return false;
  if (start * size % FOVEA_WIDE_READ != 0) return false;
  for (int axis = b.buffer.dimensions == kSlotDimensions ? 2 : 1; axis < b.buffer.dimensions;
       ++axis) {
    if (b.dimensions[axis].stride * size % FOVEA_WIDE_READ != 0) return false;
  }
  return true;
}

}  // namespace

HalideType device_type(fovea_dtype dtype) {
  // 16-bit elements travel as integers.
  return dtype == FOVEA_F16 || dtype == FOVEA_BF16 ? HalideType{kHalideUInt, 16, 1}
                                                   : halide_type(dtype);
}

RunInputs::RunInputs(const DeviceWork& work, int64_t b) {
  const Problem& problem = *work.problem;
  const fovea_call& call = problem.call;
  const Place keys = place_of_keys(problem, b);
  q_start = work.q.start + place_of_rows(problem, b).row * stride_of(call.q, 2);
  fill_tensor(&q, call.q, work.q, rows_of(problem, b), problem.q_heads, problem.batch);
  if (problem.has_cache()) {
    k_start = work.k.start;
    v_start = work.v.start;
    fill_slots(&k, call.k, work.k);
    fill_slots(&v, call.v, work.v);
    return;
  }
  k_start = work.k.start + keys.row * stride_of(call.k, 2);
  v_start = work.v.start + keys.row * stride_of(call.v, 2);
  fill_tensor(&k, call.k, work.k, keys_of(problem, b), problem.kv_heads, problem.batch);
  fill_tensor(&v, call.v, work.v, keys_of(problem, b), problem.kv_heads, problem.batch);
}

int32_t RunInputs::wide_reads(const Problem& problem) const {
  return has_aligned_rows(problem, q, q_start) && has_aligned_rows(problem, k, k_start) &&
                 has_aligned_rows(problem, v, v_start)
             ? 1
             : 0;
}

RunScalars::RunScalars(const Problem& problem, int64_t b)
    : heads_per_kv(static_cast<int32_t>(problem.q_heads / problem.kv_heads)),
      batch(static_cast<int32_t>(b)),
      sequence(problem.is_ragged() ? 0 : batch),
      q_offset(offset_of(problem, b)),
      q_len(rows_of(problem, b)),
      kv_len(keys_of(problem, b)),
      scale(problem.scale) {}

RunOutputs::RunOutputs(const DeviceWork& work, const Run& run, int64_t first_head, int64_t heads)
    : outputs_(work.problem->variant->outputs) {
  const Problem& problem = *work.problem;
  const fovea_call& call = problem.call;
  const Place rows = place_of_rows(problem, run.first);
  const auto start_of = [&](const fovea_tensor& tensor, const Placed& placed) {
    return placed.start + rows.b * stride_of(tensor, 0) + first_head * stride_of(tensor, 1) +
           rows.row * stride_of(tensor, 2);
  };
  fill_tensor(&out_, call.out, work.out, rows_of(problem, run.first), heads, run.count);
  starts_[0] = start_of(call.out, work.out);
  for (int i = 0; i < kExtraOutputCount; ++i) {
    const ExtraOutput& output = kExtraOutputs[i];
    if (!is_returned_(output)) continue;
    const fovea_tensor& tensor = call.*output.field;
    const bool wanted = is_wanted(call, output);
    starts_[1 + i] = wanted ? start_of(tensor, work.extra[i]) : work.extra[i].start;
    // One number a row, however many features ask for its place; all rows to one, if not wanted.
    extra_[i].dimensions[0] = {0, static_cast<int32_t>(problem.d_v), 0, 0};
    for (int axis = 1; axis < 4; ++axis) {
      extra_[i].dimensions[axis] = out_.dimensions[axis];
      extra_[i].dimensions[axis].stride = wanted ? stride_of(tensor, 3 - axis) : 0;
    }
    describe_buffer(&extra_[i], work.extra[i], device_type(FOVEA_F32));
  }
}

int RunOutputs::add_starts(void** list, int count) {
  list[count++] = &starts_[0];
  for (int i = 0; i < kExtraOutputCount; ++i) {
    if (is_returned_(kExtraOutputs[i])) list[count++] = &starts_[1 + i];
  }
  return count;
}

int RunOutputs::add_buffers(void** list, int count) {
  list[count++] = &out_.buffer;
  for (int i = 0; i < kExtraOutputCount; ++i) {
    if (is_returned_(kExtraOutputs[i])) list[count++] = &extra_[i].buffer;
  }
  return count;
}

int add_parameters(const DeviceWork& work, void** list, int count) {
  for (int32_t i = 0; i < work.problem->variant->parameter_count; ++i)
    list[count++] = work.parameters.arguments[i];
  return count;
}

fovea_status status_of(const DeviceWork& work, const fovea_kernel_info& kernel, int code) {
  if (work.call->status != FOVEA_OK) return work.call->status;
  if (code == 0) return FOVEA_OK;
  return fail(FOVEA_KERNEL_FAILED, "kernel %s returned error code %d", kernel.name, code);
}

}  // namespace fovea::detail
