// SPDX-License-Identifier: Apache-2.0
#include "guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace fovea::test {

GuardedMemory::GuardedMemory(size_t bytes, Edge edge, size_t distance, size_t reach)
    : size_(bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  readable_size_ = std::max(page, (bytes + distance + page - 1) / page * page);
  const size_t guard = page + (reach + page - 1) / page * page;
  mapped_ = readable_size_ + 2 * guard;
  void* mapping =
      mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<unsigned char*>(mapping);
  readable_ = mapping_ + guard;
  if (mprotect(readable_, readable_size_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::memset(readable_, 0xff, readable_size_);
  data_ =
      edge == Edge::Start ? readable_ + distance : readable_ + readable_size_ - bytes - distance;
}

GuardedMemory::~GuardedMemory() { munmap(mapping_, mapped_); }

bool GuardedMemory::untouched_outside() const {
  const auto untouched = [](unsigned char byte) { return byte == 0xff; };
  return std::all_of(readable_, data_, untouched) &&
         std::all_of(data_ + size_, readable_ + readable_size_, untouched);
}

}  // namespace fovea::test
