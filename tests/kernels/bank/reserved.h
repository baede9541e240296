// reserved.h: elements far apart from each other.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_KERNELS_BANK_RESERVED_H
#define FOVEA_TESTS_KERNELS_BANK_RESERVED_H

#include <cstdint>

#include "tests/support/reserved_memory.h"
#include "tests/support/strided_tensor.h"
#include "tests/support/test_kernel.h"

namespace fovea::test::bank {

// Elements of a kernel's type, all zero, of which only what is touched takes memory.
class Reserved {
 public:
  Reserved(const TestKernel& kernel, int64_t count)
      : dtype_(kernel.dtype()), memory_(static_cast<size_t>(count * element_size(dtype_))) {}
  bool is_there() const { return memory_.data() != nullptr; }
  StoredElement at(int64_t element) const {
    return {memory_.data() + element * element_size(dtype_), dtype_};
  }

 private:
  fovea_dtype dtype_;
  ReservedMemory memory_;
};

#define SKIP_WITHOUT(memory) \
  if (!(memory).is_there()) GTEST_SKIP() << "this system does not reserve that much memory"

}  // namespace fovea::test::bank

#endif
