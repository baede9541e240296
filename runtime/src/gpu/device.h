// Devices behind a driver: what is known of them, and what a call does with one. Drivers are loaded
// when a call, or explain, asks for their device, never before. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GPU_DEVICE_H
#define FOVEA_GPU_DEVICE_H

#include <fovea/registry.h>
#include <pthread.h>

#include "../message.h"

namespace fovea::detail {

// What a choice of kernels depends on. Tests make their own.
struct DeviceFacts {
  bool is_usable;
  uint64_t features;  // FOVEA_CPU_MASK bits of its architecture
  char text[160];     // its name, or why it cannot be used
};

// Of the target architectures "cuda" and "opencl"; all others are the CPU's.
fovea_device device_of(const char* architecture);
const char* device_name(fovea_device device);  // "cpu", "cuda", …

// A call in progress on a device. Kernels get it as their user context.
struct DeviceCall;

// Memory of a device: a CUdeviceptr or a cl_mem.
using DeviceMemory = uint64_t;

struct Launch {
  const char* kernel;
  int32_t blocks[3], threads[3];
  int32_t shared_bytes;
  const size_t* sizes;  // of the arguments, ends with 0
  void* const* arguments;
  const int8_t* is_buffer;  // the argument is a HalideBuffer
};

// What the drivers have in common. Every function returns a status and sets this thread's message.
struct DeviceDriver {
  // The device that a call would run on. `stream` and `memory` may be NULL.
  void (*describe)(void* stream, const void* memory, DeviceFacts* facts);
  fovea_status (*begin)(DeviceCall* call, const void* memory);  // nothing to end if it fails
  void (*end)(DeviceCall* call);
  // Whether a pointer of the caller can be memory of the device.
  fovea_status (*check_memory)(DeviceCall* call, const char* name, const void* memory);
  fovea_status (*allocate)(DeviceCall* call, size_t bytes, DeviceMemory* memory);
  void (*release)(DeviceCall* call, DeviceMemory memory);
  fovea_status (*copy_in)(DeviceCall* call, DeviceMemory to, const void* from, size_t bytes);
  fovea_status (*copy_out)(DeviceCall* call, void* to, DeviceMemory from, size_t bytes);
  fovea_status (*wait)(DeviceCall* call);
  void (*settle)(DeviceCall* call);  // waits as well, but keeps the message there is
  // The program that a kernel object carries: compiled once for each context.
  fovea_status (*load)(DeviceCall* call, const char* source, size_t size);
  fovea_status (*launch)(DeviceCall* call, const Launch& launch);
  // What is queued from now on waits for what has been queued, whatever the stream does by itself.
  fovea_status (*order)(DeviceCall* call);
};

const DeviceDriver& cuda_driver();
const DeviceDriver& opencl_driver();
const DeviceDriver& driver_of(fovea_device device);  // not of the CPU

struct DeviceCall {
  const DeviceDriver* driver;
  void* stream;     // cudaStream_t, cl_command_queue
  void* context;    // CUcontext, cl_context
  void* device;     // cl_device_id
  bool is_current;  // CUDA: the context was the thread's own
  void* program;    // CUmodule, cl_program: of the kernel that is running
  // One page of the context: zeros that empty tables read, the scale of caches that have none, then
  // a place for what nobody wants.
  DeviceMemory page;
  fovea_status status;  // of the first failure inside a kernel
};
constexpr size_t kDevicePageBytes = 4096;
constexpr int64_t kOneStart = kDevicePageBytes / 4;  // bytes; 0x3c00, 1 in f16
constexpr int64_t kUnwantedStart = kDevicePageBytes / 2;
struct DevicePage {
  unsigned char bytes[kDevicePageBytes] = {};
  constexpr DevicePage() { bytes[kOneStart + 1] = 0x3c; }
};

// Programs and pages of all contexts, by the address of the source and the context. Found without
// waiting for anybody; made under a lock.
struct LoadedProgram {
  const void* source;
  void* context;
  void* program;
  DeviceMemory page;  // of the entry without a source
  LoadedProgram* next;
};
class ProgramList {
 public:
  // The entry of this source and context. If there is none, make(&entry) fills one in, which is
  // kept; destroy(entry) undoes that where memory for the list is short.
  template <typename Make, typename Destroy>
  fovea_status find_or_make(const void* source, void* context, const Make& make,
                            const Destroy& destroy, LoadedProgram* found);
  void lock();
  void unlock();

 private:
  const LoadedProgram* find_(const void* source, const void* context) const;
  const LoadedProgram* add_(const LoadedProgram& entry);  // NULL: out of memory

  LoadedProgram* first_ = nullptr;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  // a driver compiles for seconds
};

template <typename Make, typename Destroy>
fovea_status ProgramList::find_or_make(const void* source, void* context, const Make& make,
                                       const Destroy& destroy, LoadedProgram* found) {
  const LoadedProgram* entry = find_(source, context);
  fovea_status status = FOVEA_OK;
  if (entry == nullptr) {
    lock();
    entry = find_(source, context);
    if (entry == nullptr) {
      LoadedProgram made = {source, context, nullptr, 0, nullptr};
      status = make(&made);
      if (status == FOVEA_OK && (entry = add_(made)) == nullptr) {
        destroy(made);
        status = fail(FOVEA_OUT_OF_MEMORY, "malloc returned NULL for %zu bytes", sizeof(made));
      }
    }
    unlock();
  }
  if (entry != nullptr) *found = *entry;
  return status;
}

// The functions of a library that is opened at run time.
struct DriverSymbol {
  const char* name;
  void** function;
};
// dlopen of the file that the environment variable names, else of the first of `names` that is
// there; then its functions. Writes why not.
bool open_driver(const char* variable, const char* const* names, int name_count,
                 const DriverSymbol* symbols, int symbol_count, char* why, size_t capacity);

}  // namespace fovea::detail
#endif
