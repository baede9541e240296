// cache_libraries.cpp: the libraries of kernels with caches that are tested.
// SPDX-License-Identifier: Apache-2.0
#include "fovea_cache_core.h"
#include "fovea_cache_half.h"
#include "fovea_cache_kernels.h"
#include "fovea_cache_odd.h"
#include "tests/support/test_kernel.h"

namespace fovea::test {

std::vector<const fovea_library_info*> tested_libraries() {
  return {fovea_cache_kernels_library(), fovea_cache_core_library(), fovea_cache_half_library(),
          fovea_cache_odd_library()};
}

}  // namespace fovea::test
