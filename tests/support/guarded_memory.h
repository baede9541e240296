// guarded_memory.h: memory between two unreadable pages.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_SUPPORT_GUARDED_MEMORY_H
#define FOVEA_TESTS_SUPPORT_GUARDED_MEMORY_H

#include <cstddef>

namespace fovea::test {

// Which unreadable page the data lies against. Against the end its address has whatever alignment
// its size leaves it.
enum class Edge { Start, End };

// Everything readable is filled with bytes 0xff, which are NaN as floats and -1 as integers: what a
// kernel reads without being allowed to shows in its result, what it writes next to its output
// shows in untouched_outside().
class GuardedMemory {
 public:
  // `distance` bytes stay between the data and the unreadable page. `reach` more bytes on each side
  // are unreadable, and nobody else's.
  GuardedMemory(size_t bytes, Edge edge, size_t distance = 0, size_t reach = 0);
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }
  // The readable bytes that are not data still hold what they were filled with.
  bool untouched_outside() const;

 private:
  unsigned char* mapping_ = nullptr;
  size_t mapped_ = 0;
  unsigned char* readable_ = nullptr;
  size_t readable_size_ = 0;
  unsigned char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fovea::test

#endif
