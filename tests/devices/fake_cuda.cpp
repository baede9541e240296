// fake_cuda.cpp: the functions of libcuda that the runtime uses. Memory of the device is memory of
// the host that the driver has handed out. SPDX-License-Identifier: Apache-2.0
#include "tests/devices/fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

fovea::test::FakeCuda state = {1, 80, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}};
std::mutex lock;
std::map<uint64_t, size_t> allocated;
thread_local void* current = nullptr;
int primary;

constexpr int invalid_value = 1, out_of_memory = 2, no_device = 100, invalid_context = 201;

}  // namespace

extern "C" {

fovea::test::FakeCuda* fake_cuda_state() { return &state; }
// As a program of the runtime interface has it after its first call.
void fake_cuda_make_current(int is_current) { current = is_current ? &primary : nullptr; }

int cuInit(unsigned) { return state.init_result; }
int cuGetErrorName(int error, const char** name) {
  *name = error == fovea::test::fake_launch_failure ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
          : error == out_of_memory                  ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == no_device                      ? "CUDA_ERROR_NO_DEVICE"
                                                    : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "as the test wants it";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = state.devices;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= state.devices) return invalid_value;
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(length));
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? state.capability / 10 : state.capability % 10;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  const std::lock_guard<std::mutex> guard(lock);
  ++state.retained;
  *context = &primary;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}
int cuCtxGetDevice(int* device) {
  *device = 0;
  return current != nullptr ? 0 : invalid_context;
}
int cuCtxPushCurrent_v2(void* context) {
  const std::lock_guard<std::mutex> guard(lock);
  ++state.pushed;
  current = context;
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  const std::lock_guard<std::mutex> guard(lock);
  ++state.popped;
  *context = current;
  current = nullptr;
  return 0;
}
int cuModuleLoadData(void** module, const void* image) {
  const std::lock_guard<std::mutex> guard(lock);
  if (current == nullptr) return invalid_context;
  if (state.load_result != 0) return state.load_result;
  const char* text = static_cast<const char*>(image);
  if (std::strstr(text, ".version") == nullptr || std::strstr(text, ".entry") == nullptr)
    return invalid_value;
  ++state.modules;
  *module = const_cast<char*>(text);
  return 0;
}
int cuModuleUnload(void*) { return 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const char* entry = std::strstr(static_cast<const char*>(module), name);
  *function = const_cast<char*>(entry);
  return entry != nullptr ? 0 : invalid_value;
}
int cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                   unsigned threads_x, unsigned threads_y, unsigned threads_z,
                   unsigned shared_bytes, void* stream, void** arguments, void**) {
  const std::lock_guard<std::mutex> guard(lock);
  if (current == nullptr) return invalid_context;
  if (state.launch_result != 0) return state.launch_result;
  // The limits of every GPU.
  if (function == nullptr || arguments == nullptr || blocks_y > 65535 || blocks_z > 65535 ||
      blocks_x == 0 || blocks_y == 0 || blocks_z == 0 || threads_x * threads_y * threads_z > 1024 ||
      shared_bytes > 48 * 1024)
    return invalid_value;
  if (state.launches < 64)
    state.launch[state.launches] = {{blocks_x, blocks_y, blocks_z},
                                    {threads_x, threads_y, threads_z},
                                    shared_bytes,
                                    stream,
                                    current};
  ++state.launches;
  return 0;
}
int cuMemAlloc_v2(uint64_t* memory, size_t bytes) {
  const std::lock_guard<std::mutex> guard(lock);
  if (current == nullptr) return invalid_context;
  if (state.allocations_left == 0) return out_of_memory;
  if (state.allocations_left > 0) --state.allocations_left;
  void* made = std::malloc(bytes);
  *memory = reinterpret_cast<uint64_t>(made);
  allocated[*memory] = bytes;
  ++state.allocations;
  ++state.live_allocations;
  return 0;
}
int cuMemFree_v2(uint64_t memory) {
  const std::lock_guard<std::mutex> guard(lock);
  if (allocated.erase(memory) == 0) return invalid_value;
  std::free(reinterpret_cast<void*>(memory));
  --state.live_allocations;
  return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void*) {
  const std::lock_guard<std::mutex> guard(lock);
  ++state.copies;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void*) {
  const std::lock_guard<std::mutex> guard(lock);
  ++state.copies;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuStreamSynchronize(void*) {
  const std::lock_guard<std::mutex> guard(lock);
  ++state.waits;
  return 0;
}
int cuPointerGetAttribute(void* value, int attribute, uint64_t pointer) {
  const std::lock_guard<std::mutex> guard(lock);
  auto after = allocated.upper_bound(pointer);
  if (after == allocated.begin()) return invalid_value;
  const auto [start, bytes] = *--after;
  if (pointer >= start + bytes) return invalid_value;
  if (attribute == 9) {
    *static_cast<int*>(value) = 0;
  } else {
    *static_cast<unsigned*>(value) = 2;  // CU_MEMORYTYPE_DEVICE
  }
  return 0;
}

}  // extern "C"
