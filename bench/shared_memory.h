// shared_memory.h: memory that worker processes map as well.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_SHARED_MEMORY_H
#define FOVEA_BENCH_SHARED_MEMORY_H

#include <cstddef>

namespace fovea::bench {

// A file without a name. Children inherit its descriptor; it grows with the largest case.
class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Zeros of this size; what was there before is gone.
  void resize(size_t size);
  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
  unsigned char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fovea::bench

#endif
