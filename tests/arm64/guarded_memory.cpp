// guarded_memory.cpp: takes the place of tests/support/guarded_memory.cpp; the unreadable pages are
// those of the worker as well. SPDX-License-Identifier: Apache-2.0
#include "tests/support/guarded_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "shared_memory.h"

namespace fovea::test {

GuardedMemory::GuardedMemory(size_t bytes, Edge edge, size_t distance, size_t reach)
    : size_(bytes) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  readable_size_ = std::max(page, (bytes + distance + page - 1) / page * page);
  const size_t guard = page + (reach + page - 1) / page * page;
  mapped_ = readable_size_ + 2 * guard;
  mapping_ = SharedMemory::instance().reserve(mapped_);
  readable_ = mapping_ + guard;
  SharedMemory::instance().make_readable(readable_, readable_size_);
  std::memset(readable_, 0xff, readable_size_);
  data_ =
      edge == Edge::Start ? readable_ + distance : readable_ + readable_size_ - bytes - distance;
}

GuardedMemory::~GuardedMemory() { SharedMemory::instance().release(mapping_, mapped_); }

bool GuardedMemory::untouched_outside() const {
  const auto untouched = [](unsigned char byte) { return byte == 0xff; };
  return std::all_of(readable_, data_, untouched) &&
         std::all_of(data_ + size_, readable_ + readable_size_, untouched);
}

}  // namespace fovea::test
