// The part of Halide's run-time ABI that kernels are called through, mirrored so that the runtime
// builds without Halide. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_HALIDE_ABI_H
#define FOVEA_HALIDE_ABI_H

#include <stddef.h>
#include <stdint.h>

namespace fovea::detail {

enum HalideTypeCode : uint8_t {
  kHalideInt = 0,
  kHalideUInt = 1,
  kHalideFloat = 2,
  kHalideBFloat = 4
};

struct HalideType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct HalideDimension {
  int32_t min;
  int32_t extent;
  int32_t stride;  // elements
  uint32_t flags;
};

// A buffer whose host is null is a bounds query to Halide: the kernel computes nothing and reports
// success. An empty buffer must therefore still carry some address.
struct HalideBuffer {
  uint64_t device;
  const void* device_interface;
  uint8_t* host;
  uint64_t flags;
  HalideType type;
  int32_t dimensions;
  HalideDimension* dim;
  void* padding;
};

static_assert(sizeof(HalideType) == 4, "halide_type_t");
static_assert(sizeof(HalideDimension) == 16, "halide_dimension_t");
static_assert(offsetof(HalideDimension, stride) == 8, "halide_dimension_t");
#if UINTPTR_MAX > UINT32_MAX
static_assert(sizeof(HalideBuffer) == 56, "halide_buffer_t");
static_assert(offsetof(HalideBuffer, host) == 16, "halide_buffer_t");
static_assert(offsetof(HalideBuffer, type) == 32, "halide_buffer_t");
static_assert(offsetof(HalideBuffer, dimensions) == 36, "halide_buffer_t");
static_assert(offsetof(HalideBuffer, dim) == 40, "halide_buffer_t");
#endif

}  // namespace fovea::detail
#endif
