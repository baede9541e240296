// SPDX-License-Identifier: Apache-2.0
#include "reserved_memory.h"

#include <sys/mman.h>

namespace fovea::test {

ReservedMemory::ReservedMemory(size_t bytes) : size_(bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping != MAP_FAILED) data_ = static_cast<unsigned char*>(mapping);
}

ReservedMemory::~ReservedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace fovea::test
