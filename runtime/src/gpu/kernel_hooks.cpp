// What the host's part of a device kernel calls: Halide's device functions, under names to which
// the generator renames them in kernel objects. Their first argument is the DeviceCall. It keeps
// the first error; kernels are compiled without checks and go on after one.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>

#include "device.h"

using namespace fovea::detail;

namespace {

constexpr int kFailed = -1;

int result(DeviceCall* call, fovea_status status) {
  if (status == FOVEA_OK) return 0;
  if (call->status == FOVEA_OK) call->status = status;
  return kFailed;
}

int load_program(void* context, const char* source, int32_t size) {
  auto* call = static_cast<DeviceCall*>(context);
  return result(call, call->driver->load(call, source, static_cast<size_t>(size)));
}

int launch(void* context, const Launch& what) {
  auto* call = static_cast<DeviceCall*>(context);
  if (call->status != FOVEA_OK) return kFailed;  // its program was not loaded
  return result(call, call->driver->launch(call, what));
}

constexpr char kInterface = 0;  // kernels compare and hand on its address, nothing more

}  // namespace

extern "C" {

const void* fovea_cuda_device_interface(void) { return &kInterface; }
const void* fovea_opencl_device_interface(void) { return &kInterface; }

// Tensors are on the device before a kernel starts.
int fovea_device_copy_to_device(void*, void*, const void*) { return 0; }

int fovea_cuda_initialize_kernels(void* context, void**, const char* source, int32_t size) {
  return load_program(context, source, size);
}
int fovea_opencl_initialize_kernels(void* context, void**, const char* source, int32_t size) {
  return load_program(context, source, size);
}

void fovea_cuda_finalize_kernels(void*, void*) {}
void fovea_opencl_finalize_kernels(void*, void*) {}

#define FOVEA_DEFINE_RUN_(name)                                                                    \
  int name(void* context, void*, const char* kernel, int32_t blocks_x, int32_t blocks_y,           \
           int32_t blocks_z, int32_t threads_x, int32_t threads_y, int32_t threads_z,              \
           int32_t shared_bytes, const size_t* sizes, void** arguments, const int8_t* is_buffer) { \
    return launch(context, {kernel,                                                                \
                            {blocks_x, blocks_y, blocks_z},                                        \
                            {threads_x, threads_y, threads_z},                                     \
                            shared_bytes,                                                          \
                            sizes,                                                                 \
                            arguments,                                                             \
                            is_buffer});                                                           \
  }
FOVEA_DEFINE_RUN_(fovea_cuda_run)
FOVEA_DEFINE_RUN_(fovea_opencl_run)
#undef FOVEA_DEFINE_RUN_

}  // extern "C"
