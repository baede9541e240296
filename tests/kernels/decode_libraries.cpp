// decode_libraries.cpp: the libraries of decode kernels that are tested.
// SPDX-License-Identifier: Apache-2.0
#include "fovea_decode_core.h"
#include "fovea_decode_dims.h"
#include "fovea_decode_half.h"
#include "fovea_decode_kernels.h"
#include "fovea_decode_slices.h"
#include "tests/support/test_kernel.h"

namespace fovea::test {

std::vector<const fovea_library_info*> tested_libraries() {
  return {fovea_decode_kernels_library(), fovea_decode_core_library(), fovea_decode_dims_library(),
          fovea_decode_slices_library(), fovea_decode_half_library()};
}

}  // namespace fovea::test
