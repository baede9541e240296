// shared_memory.cpp: one file in memory, mapped whole; the first piece that is large enough.
// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <new>
#include <system_error>

namespace fovea::test {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

SharedMemory& SharedMemory::instance() {
  static SharedMemory memory;
  return memory;
}

SharedMemory::SharedMemory() {
  file_ = memfd_create("fovea_test", MFD_CLOEXEC);
  if (file_ < 0) fail("memfd_create");
  if (ftruncate(file_, static_cast<off_t>(shared_size)) != 0) fail("ftruncate");
  void* wanted = reinterpret_cast<void*>(shared_begin);
  void* mapped = mmap(wanted, shared_size, PROT_NONE,
                      MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file_, 0);
  if (mapped != wanted) fail("mmap");
  if (mprotect(mapped, message_size, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
  free_.emplace(shared_begin + message_size, shared_size - message_size);
}

unsigned char* SharedMemory::reserve(size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [begin, size] = *piece;
    if (size < bytes) continue;
    free_.erase(piece);
    if (size > bytes) free_.emplace(begin + bytes, size - bytes);
    return reinterpret_cast<unsigned char*>(begin);
  }
  throw std::bad_alloc();
}

void SharedMemory::release(unsigned char* address, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<uintptr_t>(address);
  for (auto part = readable_.lower_bound(begin);
       part != readable_.end() && part->first < begin + bytes;) {
    const auto [at, size] = *part;
    changes_.push_back({at, size, false});
    mprotect(reinterpret_cast<void*>(at), size, PROT_NONE);
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              static_cast<off_t>(at - shared_begin), static_cast<off_t>(size));
    part = readable_.erase(part);
  }
  auto piece = free_.emplace(begin, bytes).first;
  if (const auto next = std::next(piece);
      next != free_.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece != free_.begin()) {
    const auto before = std::prev(piece);
    if (before->first + before->second == piece->first) {
      before->second += piece->second;
      free_.erase(piece);
    }
  }
}

void SharedMemory::make_readable(unsigned char* begin, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (mprotect(begin, bytes, PROT_READ | PROT_WRITE) != 0) fail("mprotect");
  readable_.emplace(reinterpret_cast<uintptr_t>(begin), bytes);
  changes_.push_back({reinterpret_cast<uintptr_t>(begin), bytes, true});
}

std::vector<MemoryChange> SharedMemory::take_changes(bool everything) {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryChange> taken;
  taken.swap(changes_);
  if (!everything) return taken;
  taken.clear();
  for (const auto& [begin, size] : readable_) taken.push_back({begin, size, true});
  return taken;
}

}  // namespace fovea::test
