// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace fovea::detail {

fovea_device device_of(const char* architecture) {
  if (strcmp(architecture, "cuda") == 0) return FOVEA_DEVICE_CUDA;
  if (strcmp(architecture, "opencl") == 0) return FOVEA_DEVICE_OPENCL;
  return FOVEA_DEVICE_CPU;
}

const char* device_name(fovea_device device) {
  switch (device) {
    case FOVEA_DEVICE_CPU:
      return "cpu";
    case FOVEA_DEVICE_CUDA:
      return "cuda";
    case FOVEA_DEVICE_OPENCL:
      return "opencl";
  }
  return "unknown";
}

const DeviceDriver& driver_of(fovea_device device) {
  return device == FOVEA_DEVICE_CUDA ? cuda_driver() : opencl_driver();
}

void ProgramList::lock() { pthread_mutex_lock(&lock_); }

void ProgramList::unlock() { pthread_mutex_unlock(&lock_); }

const LoadedProgram* ProgramList::find_(const void* source, const void* context) const {
  for (const LoadedProgram* p = __atomic_load_n(&first_, __ATOMIC_ACQUIRE); p != nullptr;
       p = p->next) {
    if (p->source == source && p->context == context) return p;
  }
  return nullptr;
}

const LoadedProgram* ProgramList::add_(const LoadedProgram& entry) {
  auto* added = static_cast<LoadedProgram*>(malloc(sizeof(LoadedProgram)));
  if (added == nullptr) return nullptr;
  *added = entry;
  added->next = first_;
  __atomic_store_n(&first_, added, __ATOMIC_RELEASE);
  return added;
}

bool open_driver(const char* variable, const char* const* names, int name_count,
                 const DriverSymbol* symbols, int symbol_count, char* why, size_t capacity) {
  const char* chosen = getenv(variable);
  void* library = nullptr;
  if (chosen != nullptr && chosen[0] != '\0') {
    library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL);
  } else {
    for (int i = 0; i < name_count && library == nullptr; ++i)
      library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    snprintf(why, capacity, "no driver: %s", dlerror());
    return false;
  }
  for (int i = 0; i < symbol_count; ++i) {
    *symbols[i].function = dlsym(library, symbols[i].name);
    if (*symbols[i].function != nullptr) continue;
    snprintf(why, capacity, "the driver has no function %s", symbols[i].name);
    return false;
  }
  return true;
}

}  // namespace fovea::detail
