// OpenCL through the loader library: the caller's queue, or, when tensors are copied from the host
// and no queue is given, one of this library's own. SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../halide_abi.h"
#include "device.h"

namespace fovea::detail {
namespace {

// The types of the interface.
using Result = int32_t;
using Bits = uint64_t;
constexpr Result kSuccess = 0;
constexpr Bits kAnyDevice = 0xFFFFFFFF;     // CL_DEVICE_TYPE_ALL
constexpr Bits kReadWrite = 1;              // CL_MEM_READ_WRITE
constexpr uint32_t kDeviceName = 0x102B;    // CL_DEVICE_NAME
constexpr uint32_t kQueueContext = 0x1090;  // CL_QUEUE_CONTEXT
constexpr uint32_t kQueueDevice = 0x1091;   // CL_QUEUE_DEVICE
constexpr uint32_t kBuildLog = 0x1183;      // CL_PROGRAM_BUILD_LOG

#define FOVEA_OPENCL_FUNCTIONS(X)                                                                 \
  X(clGetPlatformIDs, Result, (uint32_t entries, void** platforms, uint32_t* count))              \
  X(clGetDeviceIDs, Result,                                                                       \
    (void* platform, Bits type, uint32_t entries, void** devices, uint32_t* count))               \
  X(clGetDeviceInfo, Result,                                                                      \
    (void* device, uint32_t name, size_t size, void* value, size_t* needed))                      \
  X(clCreateContext, void*,                                                                       \
    (const intptr_t* properties, uint32_t count, void* const* devices,                            \
     void (*notify)(const char*, const void*, size_t, void*), void* data, Result* error))         \
  X(clCreateCommandQueue, void*, (void* context, void* device, Bits properties, Result* error))   \
  X(clGetCommandQueueInfo, Result,                                                                \
    (void* queue, uint32_t name, size_t size, void* value, size_t* needed))                       \
  X(clRetainContext, Result, (void* context))                                                     \
  X(clReleaseContext, Result, (void* context))                                                    \
  X(clReleaseCommandQueue, Result, (void* queue))                                                 \
  X(clCreateBuffer, void*, (void* context, Bits flags, size_t bytes, void* host, Result* error))  \
  X(clReleaseMemObject, Result, (void* memory))                                                   \
  X(clEnqueueWriteBuffer, Result,                                                                 \
    (void* queue, void* memory, uint32_t blocking, size_t offset, size_t bytes, const void* from, \
     uint32_t events, void* const* wait_for, void** event))                                       \
  X(clEnqueueReadBuffer, Result,                                                                  \
    (void* queue, void* memory, uint32_t blocking, size_t offset, size_t bytes, void* to,         \
     uint32_t events, void* const* wait_for, void** event))                                       \
  X(clFinish, Result, (void* queue))                                                              \
  X(clCreateProgramWithSource, void*,                                                             \
    (void* context, uint32_t count, const char** texts, const size_t* lengths, Result* error))    \
  X(clBuildProgram, Result,                                                                       \
    (void* program, uint32_t count, void* const* devices, const char* options,                    \
     void (*notify)(void*, void*), void* data))                                                   \
  X(clGetProgramBuildInfo, Result,                                                                \
    (void* program, void* device, uint32_t name, size_t size, void* value, size_t* needed))       \
  X(clReleaseProgram, Result, (void* program))                                                    \
  X(clCreateKernel, void*, (void* program, const char* name, Result* error))                      \
  X(clSetKernelArg, Result, (void* kernel, uint32_t index, size_t size, const void* value))       \
  X(clReleaseKernel, Result, (void* kernel))                                                      \
  X(clEnqueueNDRangeKernel, Result,                                                               \
    (void* queue, void* kernel, uint32_t dimensions, const size_t* offset, const size_t* global,  \
     const size_t* local, uint32_t events, void* const* wait_for, void** event))                  \
  X(clEnqueueBarrierWithWaitList, Result,                                                         \
    (void* queue, uint32_t events, void* const* wait_for, void** event))

#define FOVEA_DECLARE_(name, result, arguments) result(*name) arguments;
struct Functions {
  FOVEA_OPENCL_FUNCTIONS(FOVEA_DECLARE_)
};
#undef FOVEA_DECLARE_

Functions f;
char why_not[160];
pthread_once_t opened = PTHREAD_ONCE_INIT;
ProgramList programs;
// The first device of the first platform that has one; context and queue made at first need, under
// the lock of the programs.
void* own_device;
void* own_context;
void* own_queue;

fovea_status failed(const char* function, Result error) {
  return fail(FOVEA_KERNEL_FAILED, "%s: OpenCL error %d", function, error);
}

void find_device() {
  constexpr uint32_t kMost = 16;
  void* platforms[kMost];
  uint32_t count = 0;
  const Result error = f.clGetPlatformIDs(kMost, platforms, &count);
  if (error != kSuccess || count == 0) {
    snprintf(why_not, sizeof(why_not), "the OpenCL loader knows no driver (clGetPlatformIDs: %d)",
             error);
    return;
  }
  for (uint32_t i = 0; i < count && i < kMost && own_device == nullptr; ++i) {
    uint32_t devices = 0;
    if (f.clGetDeviceIDs(platforms[i], kAnyDevice, 1, &own_device, &devices) != kSuccess ||
        devices == 0)
      own_device = nullptr;
  }
  if (own_device == nullptr) snprintf(why_not, sizeof(why_not), "no driver has a device");
}

void open() {
  constexpr const char* kNames[] = {"libOpenCL.so.1", "libOpenCL.so"};
#define FOVEA_SYMBOL_(name, result, arguments) {#name, reinterpret_cast<void**>(&f.name)},
  const DriverSymbol symbols[] = {FOVEA_OPENCL_FUNCTIONS(FOVEA_SYMBOL_)};
#undef FOVEA_SYMBOL_
  if (open_driver("FOVEA_OPENCL_DRIVER", kNames, 2, symbols, sizeof(symbols) / sizeof(symbols[0]),
                  why_not, sizeof(why_not)))
    find_device();
}

bool is_open() {
  pthread_once(&opened, open);
  return why_not[0] == '\0';
}

void describe(void* stream, const void*, DeviceFacts* facts) {
  *facts = {};
  if (!is_open()) {
    memcpy(facts->text, why_not, sizeof(why_not));
    return;
  }
  void* device = own_device;
  if (stream != nullptr &&
      f.clGetCommandQueueInfo(stream, kQueueDevice, sizeof(device), &device, nullptr) != kSuccess) {
    snprintf(facts->text, sizeof(facts->text), "exec.stream = %p is no command queue", stream);
    return;
  }
  facts->is_usable = true;
  if (f.clGetDeviceInfo(device, kDeviceName, sizeof(facts->text) - 1, facts->text, nullptr) !=
      kSuccess)
    facts->text[0] = '\0';
}

void end(DeviceCall*) {}

fovea_status allocate(DeviceCall* call, size_t bytes, DeviceMemory* memory) {
  Result error = kSuccess;
  void* made = f.clCreateBuffer(call->context, kReadWrite, bytes, nullptr, &error);
  *memory = reinterpret_cast<DeviceMemory>(made);
  if (made != nullptr && error == kSuccess) return FOVEA_OK;
  return fail(FOVEA_OUT_OF_MEMORY, "clCreateBuffer of %zu bytes: OpenCL error %d", bytes, error);
}

void release(DeviceCall*, DeviceMemory memory) {
  f.clReleaseMemObject(reinterpret_cast<void*>(memory));
}

fovea_status copy_in(DeviceCall* call, DeviceMemory to, const void* from, size_t bytes) {
  // Blocking, because `from` may be gone once the call has failed elsewhere.
  const Result error = f.clEnqueueWriteBuffer(call->stream, reinterpret_cast<void*>(to), 1, 0,
                                              bytes, from, 0, nullptr, nullptr);
  return error == kSuccess ? FOVEA_OK : failed("clEnqueueWriteBuffer", error);
}

fovea_status copy_out(DeviceCall* call, void* to, DeviceMemory from, size_t bytes) {
  const Result error = f.clEnqueueReadBuffer(call->stream, reinterpret_cast<void*>(from), 1, 0,
                                             bytes, to, 0, nullptr, nullptr);
  return error == kSuccess ? FOVEA_OK : failed("clEnqueueReadBuffer", error);
}

fovea_status wait(DeviceCall* call) {
  const Result error = f.clFinish(call->stream);
  return error == kSuccess ? FOVEA_OK : failed("clFinish", error);
}

void settle(DeviceCall* call) { f.clFinish(call->stream); }

fovea_status use_own_queue(DeviceCall* call) {
  Result error = kSuccess;
  programs.lock();
  if (own_context == nullptr)
    own_context = f.clCreateContext(nullptr, 1, &own_device, nullptr, nullptr, &error);
  if (own_context != nullptr && own_queue == nullptr)
    own_queue = f.clCreateCommandQueue(own_context, own_device, 0, &error);
  programs.unlock();
  if (own_queue == nullptr) return failed("clCreateContext or clCreateCommandQueue", error);
  call->stream = own_queue;
  call->context = own_context;
  call->device = own_device;
  return FOVEA_OK;
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
        if (done != FOVEA_OK) {
          release(call, made->page);
          return done;
        }
        // Kept alive: another context at the same address would be taken for this one.
        f.clRetainContext(call->context);
        return FOVEA_OK;
      },
      [call](const LoadedProgram& made) {
        release(call, made.page);
        f.clReleaseContext(call->context);
      },
      &page);
  call->page = page.page;
  return status;
}

fovea_status begin(DeviceCall* call, const void*) {
  if (!is_open()) return fail(FOVEA_UNSUPPORTED, "device opencl: %s", why_not);
  fovea_status status = FOVEA_OK;
  if (call->stream == nullptr) {
    status = use_own_queue(call);
  } else {
    Result error = f.clGetCommandQueueInfo(call->stream, kQueueContext, sizeof(void*),
                                           &call->context, nullptr);
    if (error == kSuccess)
      error = f.clGetCommandQueueInfo(call->stream, kQueueDevice, sizeof(void*), &call->device,
                                      nullptr);
    if (error != kSuccess) status = failed("clGetCommandQueueInfo of exec.stream", error);
  }
  return status == FOVEA_OK ? find_page(call) : status;
}

// There is no asking whether an address is that of a cl_mem.
fovea_status check_memory(DeviceCall*, const char*, const void*) { return FOVEA_OK; }

fovea_status build(DeviceCall* call, const char* source, size_t size, void** program) {
  Result error = kSuccess;
  // The text in an object ends with a zero.
  const size_t length = strnlen(source, size);
  *program = f.clCreateProgramWithSource(call->context, 1, &source, &length, &error);
  if (*program == nullptr) return failed("clCreateProgramWithSource", error);
  error = f.clBuildProgram(*program, 1, &call->device, "", nullptr, nullptr);
  if (error == kSuccess) return FOVEA_OK;
  char log[400] = {};
  f.clGetProgramBuildInfo(*program, call->device, kBuildLog, sizeof(log) - 1, log, nullptr);
  f.clReleaseProgram(*program);
  *program = nullptr;
  return fail(FOVEA_KERNEL_FAILED, "clBuildProgram: OpenCL error %d: %.200s", error, log);
}

fovea_status load(DeviceCall* call, const char* source, size_t size) {
  LoadedProgram loaded = {};
  const fovea_status status = programs.find_or_make(
      source, call->context,
      [=](LoadedProgram* made) { return build(call, source, size, &made->program); },
      [](const LoadedProgram& made) { f.clReleaseProgram(made.program); }, &loaded);
  call->program = loaded.program;
  return status;
}

Result set_arguments(void* kernel, const Launch& l, uint32_t* index) {
  for (uint32_t& i = *index; l.sizes[i] != 0; ++i) {
    Result error = kSuccess;
    if (l.is_buffer[i] != 0) {
      const uint64_t memory = static_cast<const HalideBuffer*>(l.arguments[i])->device;
      error = f.clSetKernelArg(kernel, i, sizeof(memory), &memory);
    } else {
      error = f.clSetKernelArg(kernel, i, l.sizes[i], l.arguments[i]);
    }
    if (error != kSuccess) return error;
  }
  const auto bytes = static_cast<size_t>(l.shared_bytes > 0 ? l.shared_bytes : 1);
  return f.clSetKernelArg(kernel, *index, bytes, nullptr);
}

// A kernel object of its own for each launch: setting arguments of a shared one is not safe.
fovea_status launch(DeviceCall* call, const Launch& l) {
  Result error = kSuccess;
  void* kernel = f.clCreateKernel(call->program, l.kernel, &error);
  if (kernel == nullptr) return failed("clCreateKernel", error);
  fovea_status status = FOVEA_OK;
  uint32_t index = 0;
  error = set_arguments(kernel, l, &index);
  if (error != kSuccess) {
    status = fail(FOVEA_KERNEL_FAILED, "clSetKernelArg of argument %u of %s: OpenCL error %d",
                  index, l.kernel, error);
  } else {
    size_t global[3];
    size_t local[3];
    for (int i = 0; i < 3; ++i) {
      local[i] = static_cast<size_t>(l.threads[i]);
      global[i] = static_cast<size_t>(l.blocks[i]) * local[i];
    }
    error = f.clEnqueueNDRangeKernel(call->stream, kernel, 3, nullptr, global, local, 0, nullptr,
                                     nullptr);
    if (error != kSuccess)
      status =
          fail(FOVEA_KERNEL_FAILED,
               "clEnqueueNDRangeKernel of %s, %d x %d x %d groups of %d x %d, %d bytes of local "
               "memory: OpenCL error %d",
               l.kernel, l.blocks[0], l.blocks[1], l.blocks[2], l.threads[0], l.threads[1],
               l.shared_bytes, error);
  }
  f.clReleaseKernel(kernel);
  return status;
}

// A queue of the caller may run its commands in any order.
fovea_status order(DeviceCall* call) {
  const Result error = f.clEnqueueBarrierWithWaitList(call->stream, 0, nullptr, nullptr);
  return error == kSuccess ? FOVEA_OK : failed("clEnqueueBarrierWithWaitList", error);
}

constexpr DeviceDriver kDriver = {describe, begin, end,    check_memory, allocate, release, copy_in,
                                  copy_out, wait,  settle, load,         launch,   order};

}  // namespace

const DeviceDriver& opencl_driver() { return kDriver; }

}  // namespace fovea::detail
