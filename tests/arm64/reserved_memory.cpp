// reserved_memory.cpp: takes the place of tests/support/reserved_memory.cpp; a hole of the file
// that the worker sees. SPDX-License-Identifier: Apache-2.0
#include "tests/support/reserved_memory.h"

#include <unistd.h>

#include "shared_memory.h"

namespace fovea::test {

ReservedMemory::ReservedMemory(size_t bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_ = (bytes + page - 1) / page * page;
  data_ = SharedMemory::instance().reserve(size_);
  SharedMemory::instance().make_readable(data_, size_);
}

ReservedMemory::~ReservedMemory() { SharedMemory::instance().release(data_, size_); }

}  // namespace fovea::test
