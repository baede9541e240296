// reserved_memory.h: far more address space than memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_RESERVED_MEMORY_H
#define FOVEA_TESTS_SUPPORT_RESERVED_MEMORY_H

#include <cstddef>

namespace fovea::test {

// Bytes that are all zero, of which only what is touched takes memory.
class ReservedMemory {
 public:
  explicit ReservedMemory(size_t bytes);
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  // NULL: this system does not reserve so much.
  unsigned char* data() const { return data_; }

 private:
  unsigned char* data_ = nullptr;
  size_t size_;
};

}  // namespace fovea::test

#endif
