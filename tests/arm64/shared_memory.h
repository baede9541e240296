// shared_memory.h: memory that the worker sees at the same addresses.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ARM64_SHARED_MEMORY_H
#define FOVEA_TESTS_ARM64_SHARED_MEMORY_H

#include <map>
#include <mutex>
#include <vector>

#include "shared_message.h"

namespace fovea::test {

class SharedMemory {
 public:
  static SharedMemory& instance();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  static bool contains(const void* address) {
    return reinterpret_cast<uintptr_t>(address) - shared_begin < shared_size;
  }

  // Whole pages, of which nothing is readable at first. Throws std::bad_alloc.
  unsigned char* reserve(size_t bytes);
  void release(unsigned char* begin, size_t bytes);
  void make_readable(unsigned char* begin, size_t bytes);

  int file() const { return file_; }
  // Changes since the last call, or all that is readable, for a worker that knows nothing yet.
  std::vector<MemoryChange> take_changes(bool everything);

 private:
  SharedMemory();

  int file_ = -1;
  std::mutex mutex_;
  std::map<uintptr_t, size_t> free_;      // pieces by their start
  std::map<uintptr_t, size_t> readable_;  // the same
  std::vector<MemoryChange> changes_;
};

}  // namespace fovea::test

#endif
