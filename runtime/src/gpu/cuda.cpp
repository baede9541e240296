// CUDA through the driver's own interface: the caller's context and stream, or, on a thread that
// has no context, the primary one of the device that holds the tensors.
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../halide_abi.h"
#include "device.h"

namespace fovea::detail {
namespace {

// The driver's types, as its binary interface has them.
using Result = int;
using Device = int;
using Context = void*;
constexpr Result kSuccess = 0;
constexpr int kComputeMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kComputeMinor = 76;
constexpr int kPointerMemoryType = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kPointerOrdinal = 9;     // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
constexpr unsigned kHostMemory = 1;    // CU_MEMORYTYPE_HOST

#define FOVEA_CUDA_FUNCTIONS(X)                                                                   \
  X(cuInit, Result, (unsigned flags))                                                             \
  X(cuGetErrorName, Result, (Result error, const char** name))                                    \
  X(cuGetErrorString, Result, (Result error, const char** text))                                  \
  X(cuDeviceGetCount, Result, (int* count))                                                       \
  X(cuDeviceGet, Result, (Device * device, int ordinal))                                          \
  X(cuDeviceGetName, Result, (char* name, int length, Device device))                             \
  X(cuDeviceGetAttribute, Result, (int* value, int attribute, Device device))                     \
  X(cuDevicePrimaryCtxRetain, Result, (Context * context, Device device))                         \
  X(cuDevicePrimaryCtxRelease_v2, Result, (Device device))                                        \
  X(cuCtxGetCurrent, Result, (Context * context))                                                 \
  X(cuCtxGetDevice, Result, (Device * device))                                                    \
  X(cuCtxPushCurrent_v2, Result, (Context context))                                               \
  X(cuCtxPopCurrent_v2, Result, (Context * context))                                              \
  X(cuModuleLoadData, Result, (void** module, const void* image))                                 \
  X(cuModuleUnload, Result, (void* module))                                                       \
  X(cuModuleGetFunction, Result, (void** function, void* module, const char* name))               \
  X(cuLaunchKernel, Result,                                                                       \
    (void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x, \
     unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void* stream,                 \
     void** arguments, void** extra))                                                             \
  X(cuMemAlloc_v2, Result, (uint64_t* memory, size_t bytes))                                      \
  X(cuMemFree_v2, Result, (uint64_t memory))                                                      \
  X(cuMemcpyHtoDAsync_v2, Result, (uint64_t to, const void* from, size_t bytes, void* stream))    \
  X(cuMemcpyDtoHAsync_v2, Result, (void* to, uint64_t from, size_t bytes, void* stream))          \
  X(cuStreamSynchronize, Result, (void* stream))                                                  \
  X(cuPointerGetAttribute, Result, (void* value, int attribute, uint64_t pointer))

#define FOVEA_DECLARE_(name, result, arguments) result(*name) arguments;
struct Functions {
  FOVEA_CUDA_FUNCTIONS(FOVEA_DECLARE_)
};
#undef FOVEA_DECLARE_

Functions f;
char why_not[160];
pthread_once_t opened = PTHREAD_ONCE_INIT;
ProgramList programs;

constexpr int kMostDevices = 64;
Context primary[kMostDevices];  // retained by this library; under the lock of the programs

const char* error_name(Result error) {
  const char* name = nullptr;
  f.cuGetErrorName(error, &name);
  return name != nullptr ? name : "unknown error";
}

fovea_status failed(const char* function, Result error) {
  const char* text = nullptr;
  f.cuGetErrorString(error, &text);
  return fail(FOVEA_KERNEL_FAILED, "%s: %s (%d), %s", function, error_name(error), error,
              text != nullptr ? text : "");
}

void open() {
  constexpr const char* kNames[] = {"libcuda.so.1", "libcuda.so"};
#define FOVEA_SYMBOL_(name, result, arguments) {#name, reinterpret_cast<void**>(&f.name)},
  const DriverSymbol symbols[] = {FOVEA_CUDA_FUNCTIONS(FOVEA_SYMBOL_)};
#undef FOVEA_SYMBOL_
  if (!open_driver("FOVEA_CUDA_DRIVER", kNames, 2, symbols, sizeof(symbols) / sizeof(symbols[0]),
                   why_not, sizeof(why_not)))
    return;
  const Result error = f.cuInit(0);
  int count = 0;
  if (error != kSuccess) {
    snprintf(why_not, sizeof(why_not), "the driver cannot be used, cuInit: %s", error_name(error));
  } else if (f.cuDeviceGetCount(&count) != kSuccess || count == 0) {
    snprintf(why_not, sizeof(why_not), "the driver has no device");
  }
}

bool is_open() {
  pthread_once(&opened, open);
  return why_not[0] == '\0';
}

// The ordinal of the device that a call would run on.
Device choose_device(const void* memory) {
  Context current = nullptr;
  Device device = 0;
  if (f.cuCtxGetCurrent(&current) == kSuccess && current != nullptr &&
      f.cuCtxGetDevice(&device) == kSuccess)
    return device;
  int ordinal = 0;
  if (memory != nullptr &&
      f.cuPointerGetAttribute(&ordinal, kPointerOrdinal, reinterpret_cast<uint64_t>(memory)) ==
          kSuccess &&
      ordinal >= 0 && f.cuDeviceGet(&device, ordinal) == kSuccess)
    return device;
  return f.cuDeviceGet(&device, 0) == kSuccess ? device : 0;
}

void describe(void*, const void* memory, DeviceFacts* facts) {
  *facts = {};
  if (!is_open()) {
    memcpy(facts->text, why_not, sizeof(why_not));
    return;
  }
  const Device device = choose_device(memory);
  int major = 0;
  int minor = 0;
  char name[100] = {};
  Result error = f.cuDeviceGetAttribute(&major, kComputeMajor, device);
  if (error == kSuccess) error = f.cuDeviceGetAttribute(&minor, kComputeMinor, device);
  if (error != kSuccess) {
    snprintf(facts->text, sizeof(facts->text), "cuDeviceGetAttribute: %s", error_name(error));
    return;
  }
  if (f.cuDeviceGetName(name, sizeof(name), device) != kSuccess) name[0] = '\0';
  const int capability = 10 * major + minor;
  facts->is_usable = true;
  if (capability >= 70) facts->features |= FOVEA_CPU_MASK(SM70);
  if (capability >= 80) facts->features |= FOVEA_CPU_MASK(SM80);
  if (capability >= 86) facts->features |= FOVEA_CPU_MASK(SM86);
  snprintf(facts->text, sizeof(facts->text), "%.100s, sm_%d", name, capability);
}

void end(DeviceCall* call) {
  Context popped = nullptr;
  if (!call->is_current) f.cuCtxPopCurrent_v2(&popped);
}

fovea_status allocate(DeviceCall*, size_t bytes, DeviceMemory* memory) {
  const Result error = f.cuMemAlloc_v2(memory, bytes);
  if (error == kSuccess) return FOVEA_OK;
  return fail(FOVEA_OUT_OF_MEMORY, "cuMemAlloc of %zu bytes: %s", bytes, error_name(error));
}

void release(DeviceCall*, DeviceMemory memory) { f.cuMemFree_v2(memory); }

fovea_status copy_in(DeviceCall* call, DeviceMemory to, const void* from, size_t bytes) {
  const Result error = f.cuMemcpyHtoDAsync_v2(to, from, bytes, call->stream);
  return error == kSuccess ? FOVEA_OK : failed("cuMemcpyHtoDAsync", error);
}

fovea_status copy_out(DeviceCall* call, void* to, DeviceMemory from, size_t bytes) {
  const Result error = f.cuMemcpyDtoHAsync_v2(to, from, bytes, call->stream);
  return error == kSuccess ? FOVEA_OK : failed("cuMemcpyDtoHAsync", error);
}

fovea_status wait(DeviceCall* call) {
  const Result error = f.cuStreamSynchronize(call->stream);
  return error == kSuccess ? FOVEA_OK : failed("cuStreamSynchronize", error);
}

void settle(DeviceCall* call) { f.cuStreamSynchronize(call->stream); }

// The context of the thread, or the primary one of the device.
fovea_status enter_context(DeviceCall* call, const void* memory) {
  Context current = nullptr;
  Result error = f.cuCtxGetCurrent(&current);
  if (error != kSuccess) return failed("cuCtxGetCurrent", error);
  call->is_current = current != nullptr;
  call->context = current;
  if (call->is_current) return FOVEA_OK;
  const Device device = choose_device(memory);
  if (device < 0 || device >= kMostDevices)
    return fail(FOVEA_UNSUPPORTED, "CUDA device %d: supported are 0 to %d", device,
                kMostDevices - 1);
  programs.lock();
  if (primary[device] == nullptr) error = f.cuDevicePrimaryCtxRetain(&primary[device], device);
  call->context = primary[device];
  programs.unlock();
  if (error != kSuccess) return failed("cuDevicePrimaryCtxRetain", error);
  error = f.cuCtxPushCurrent_v2(call->context);
  return error == kSuccess ? FOVEA_OK : failed("cuCtxPushCurrent", error);
}

fovea_status find_page(DeviceCall* call) {
  LoadedProgram page = {};
  const fovea_status status = programs.find_or_make(
      nullptr, call->context,
      [call](LoadedProgram* made) {
        static constexpr DevicePage contents;
        fovea_status done = allocate(call, kDevicePageBytes, &made->page);
        if (done != FOVEA_OK) return done;
        done = copy_in(call, made->page, contents.bytes, kDevicePageBytes);
        if (done == FOVEA_OK) done = wait(call);
        if (done != FOVEA_OK) release(call, made->page);
        return done;
      },
      [call](const LoadedProgram& made) { release(call, made.page); }, &page);
  call->page = page.page;
  return status;
}

fovea_status begin(DeviceCall* call, const void* memory) {
  if (!is_open()) return fail(FOVEA_UNSUPPORTED, "device cuda: %s", why_not);
  fovea_status status = enter_context(call, memory);
  if (status != FOVEA_OK) return status;
  status = find_page(call);
  if (status != FOVEA_OK) end(call);
  return status;
}

fovea_status check_memory(DeviceCall*, const char* name, const void* memory) {
  unsigned type = 0;
  const Result error =
      f.cuPointerGetAttribute(&type, kPointerMemoryType, reinterpret_cast<uint64_t>(memory));
  // Unified addressing reaches pinned host memory; memory that the driver does not know it cannot.
  if (error == kSuccess && type != kHostMemory) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "%s = %p: memory of the host; allowed: memory of the CUDA device, or "
              "exec.host_tensors = 1, which copies",
              name, memory);
}

fovea_status load(DeviceCall* call, const char* source, size_t) {
  LoadedProgram loaded = {};
  const fovea_status status = programs.find_or_make(
      source, call->context,
      [source](LoadedProgram* made) {
        const Result error = f.cuModuleLoadData(&made->program, source);
        return error == kSuccess ? FOVEA_OK : failed("cuModuleLoadData", error);
      },
      [](const LoadedProgram& made) { f.cuModuleUnload(made.program); }, &loaded);
  call->program = loaded.program;
  return status;
}

fovea_status launch(DeviceCall* call, const Launch& l) {
  void* function = nullptr;
  Result error = f.cuModuleGetFunction(&function, call->program, l.kernel);
  if (error != kSuccess) return failed("cuModuleGetFunction", error);
  // Kernels have tensors, tables and scalars: far fewer than these.
  constexpr int kMost = 512;
  void* arguments[kMost];
  uint64_t memory[kMost];
  int count = 0;
  for (; l.sizes[count] != 0; ++count) {
    if (count == kMost)
      return fail(FOVEA_UNSUPPORTED, "kernel %s has more than %d arguments", l.kernel, kMost);
    arguments[count] = l.arguments[count];
    if (l.is_buffer[count] == 0) continue;
    memory[count] = static_cast<const HalideBuffer*>(l.arguments[count])->device;
    arguments[count] = &memory[count];
  }
  const auto u = [](int32_t n) { return static_cast<unsigned>(n); };
  error = f.cuLaunchKernel(function, u(l.blocks[0]), u(l.blocks[1]), u(l.blocks[2]),
                           u(l.threads[0]), u(l.threads[1]), u(l.threads[2]), u(l.shared_bytes),
                           call->stream, arguments, nullptr);
  if (error == kSuccess) return FOVEA_OK;
  const char* text = nullptr;
  f.cuGetErrorString(error, &text);
  return fail(FOVEA_KERNEL_FAILED,
              "cuLaunchKernel of %s, %d x %d x %d blocks of %d threads, %d bytes of shared memory: "
              "%s (%d), %s",
              l.kernel, l.blocks[0], l.blocks[1], l.blocks[2], l.threads[0], l.shared_bytes,
              error_name(error), error, text != nullptr ? text : "");
}

// Streams do nothing else.
fovea_status order(DeviceCall*) { return FOVEA_OK; }

constexpr DeviceDriver kDriver = {describe, begin, end,    check_memory, allocate, release, copy_in,
                                  copy_out, wait,  settle, load,         launch,   order};

}  // namespace

const DeviceDriver& cuda_driver() { return kDriver; }

}  // namespace fovea::detail
