// shared_memory.cpp: memory that worker processes map as well.
// SPDX-License-Identifier: Apache-2.0
#include "bench/shared_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace fovea::bench {
namespace {

[[noreturn]] void fail(const char* what, size_t size) {
  throw std::runtime_error(
      fmt::format("cannot {} {} bytes of shared memory: {}", what, size, std::strerror(errno)));
}

}  // namespace

SharedMemory::SharedMemory() {
  descriptor_ = memfd_create("fovea_bench", MFD_CLOEXEC);
  if (descriptor_ < 0) fail("make", 0);
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, size_);
  close(descriptor_);
}

void SharedMemory::resize(size_t size) {
  if (data_) munmap(data_, size_);
  data_ = nullptr;
  size_ = 0;
  // Through 0, so that no byte of an earlier case remains.
  if (ftruncate(descriptor_, 0) != 0 || ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
    fail("get", size);
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) fail("map", size);
  data_ = static_cast<unsigned char*>(mapped);
  size_ = size;
}

}  // namespace fovea::bench
