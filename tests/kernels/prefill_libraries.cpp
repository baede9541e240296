// prefill_libraries.cpp: the libraries of prefill kernels that are tested.
// SPDX-License-Identifier: Apache-2.0
#include "fovea_bank_dims.h"
#include "fovea_half_dims.h"
#if defined(__x86_64__)
#include "fovea_half_intel.h"
#endif
#include "fovea_half_kernels.h"
#include "fovea_half_short.h"
#include "fovea_preset_kernels.h"
#include "fovea_slice_dims.h"
#include "fovea_test_dims.h"
#include "fovea_test_kernels.h"
#include "fovea_test_targets.h"
#include "tests/support/test_kernel.h"

namespace fovea::test {

std::vector<const fovea_library_info*> tested_libraries() {
  return {
      fovea_test_kernels_library(), fovea_test_targets_library(), fovea_preset_kernels_library(),
      fovea_test_dims_library(),    fovea_bank_dims_library(),    fovea_slice_dims_library(),
      fovea_half_kernels_library(), fovea_half_short_library(),   fovea_half_dims_library(),
#if defined(__x86_64__)
      fovea_half_intel_library(),
#endif
  };
}

}  // namespace fovea::test
