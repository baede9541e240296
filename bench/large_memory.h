// large_memory.h: memory of contenders, in large pages where it is much: as numpy, and so every
// peer, has it. With small ones, how fast a long cache is read depends on the address translation.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_LARGE_MEMORY_H
#define FOVEA_BENCH_LARGE_MEMORY_H

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace fovea::bench {

template <typename T>
struct LargePageAllocator {
  using value_type = T;
  LargePageAllocator() = default;
  template <typename U>
  LargePageAllocator(const LargePageAllocator<U>&) {}

  T* allocate(size_t count) {
    constexpr size_t page = size_t{1} << 21;
    const size_t bytes = (count * sizeof(T) + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, bytes);
    if (!memory) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);  // where the system has none, nothing is lost
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  friend bool operator==(const LargePageAllocator&, const LargePageAllocator&) { return true; }
};

template <typename T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace fovea::bench

#endif
