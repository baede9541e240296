// reserved.h: far more address space than memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_KERNELS_BANK_RESERVED_H
#define FOVEA_TESTS_KERNELS_BANK_RESERVED_H

#include <sys/mman.h>

#include <cstdint>

#include "tests/support/strided_tensor.h"
#include "tests/support/test_kernel.h"

namespace fovea::test::bank {

// Floats of address space, all zero, of which only what is written takes memory.
class Reserved {
 public:
  Reserved(const TestKernel& kernel, int64_t count)
      : dtype_(kernel.dtype()), bytes_(static_cast<size_t>(count * element_size(dtype_))) {
    void* mapping = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping != MAP_FAILED) data_ = static_cast<unsigned char*>(mapping);
  }
  ~Reserved() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  bool is_there() const { return data_ != nullptr; }
  StoredElement at(int64_t element) const {
    return {data_ + element * element_size(dtype_), dtype_};
  }

 private:
  fovea_dtype dtype_;
  size_t bytes_;
  unsigned char* data_ = nullptr;
};

#define SKIP_WITHOUT(memory) \
  if (!(memory).is_there()) GTEST_SKIP() << "this system does not reserve that much memory"

}  // namespace fovea::test::bank

#endif
