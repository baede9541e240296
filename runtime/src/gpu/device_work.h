// What the launches of a call on a device share: where its tensors are, and how kernels are told.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GPU_DEVICE_WORK_H
#define FOVEA_GPU_DEVICE_WORK_H

#include "../buffers.h"
#include "../sequences.h"
#include "device.h"

namespace fovea::detail {

constexpr int64_t kMostBlocks = 65535;  // along y and z
constexpr uint64_t kDeviceDirty = 2;    // the data of a HalideBuffer is what the device has

// A tensor or table as a device sees it. With copies, `host` is the lowest byte of it.
struct Placed {
  DeviceMemory memory;
  int64_t start;  // element (0, 0, 0, 0)
  unsigned char* host;
  size_t bytes;
  bool is_output;
};

// Sequences next to each other that have the same lengths and position.
struct Run {
  int64_t first, count;
};

// Everything that the launches of a call share.
struct DeviceWork {
  const Problem* problem;
  const fovea_kernel_info *prefill, *decode;  // NULL: no sequence runs in that pass
  DeviceCall* call;
  Parameters parameters;
  Placed q, k, v, out, extra[kExtraOutputCount];
  Placed pages, k_scale, v_scale;  // of a cache
  Placed records;                  // of decode: of one run at a time
};

inline int32_t stride_of(const fovea_tensor& tensor, int axis) {
  return tensor.extent[axis] > 1 ? static_cast<int32_t>(tensor.stride[axis]) : 0;
}

HalideType device_type(fovea_dtype dtype);

template <int rank>
void describe_buffer(Buffer<rank>* b, const Placed& placed, HalideType type,
                     int32_t dimensions = rank) {
  b->buffer = {placed.memory, fovea_opencl_device_interface(),
               nullptr,       kDeviceDirty,
               type,          dimensions,
               b->dimensions, nullptr};
}

// What every kernel that reads q, k and v is told of a run.
struct RunInputs {
  Buffer<4> q;
  Buffer<5> k, v;
  int64_t q_start, k_start, v_start;

  RunInputs(const DeviceWork& work, int64_t b);
  // 1 if each row of all three begins where 16 bytes can be read at once, else 0.
  int32_t wide_reads(const Problem& problem) const;
};

// And those with a cache, besides.
struct RunCache {
  Buffer<2> pages;
  Ring ring;
  int32_t page_shift, pool_pages;
  Buffer<5> k_scale, v_scale;
  int32_t k_group_shift, v_group_shift;
  int64_t pages_start, k_scale_start, v_scale_start;

  // With so many keys. Nothing is filled where the call has no cache.
  RunCache(const DeviceWork& work, int32_t kv_len);
  int add(const Problem& problem, void** list, int count);
  int add_places(void** list, int count);  // without scales
};
// (feature or two, 0, slot, page or sequence, KV head)
void fill_slots(Buffer<5>* b, const fovea_tensor& tensor, const Placed& placed);
struct RunScalars {
  int32_t heads_per_kv, batch, sequence, q_offset, q_len, kv_len;
  float scale;

  RunScalars(const Problem& problem, int64_t b);
};

// Outputs of some heads of a run, as every kernel that writes them is told.
class RunOutputs {
 public:
  RunOutputs(const DeviceWork& work, const Run& run, int64_t first_head, int64_t heads);

  int add_starts(void** list, int count);
  int add_buffers(void** list, int count);

 private:
  bool is_returned_(const ExtraOutput& output) const {
    return (outputs_ & output.bit) != 0 && !output.is_per_key;
  }

  uint32_t outputs_;
  Buffer<4> out_, extra_[kExtraOutputCount];
  int64_t starts_[1 + kExtraOutputCount];
};

// How many arguments a kernel may have.
constexpr int kMostArguments = 64 + FOVEA_MAX_PARAMETERS;
int add_parameters(const DeviceWork& work, void** list, int count);

// Status of a kernel that returned `code`. Kernels are compiled without checks, and do not hand on
// what the driver said.
fovea_status status_of(const DeviceWork& work, const fovea_kernel_info& kernel, int code);

}  // namespace fovea::detail
#endif
