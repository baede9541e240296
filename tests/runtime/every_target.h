// A library with a kernel of every type for every target, so that choices on CPUs that are not here
// can be asked for. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fovea/registry.h>

#include <vector>

#include "selection.h"

namespace fovea::test {

struct EveryTarget {
  EveryTarget();
  EveryTarget(const EveryTarget&) = delete;

  // Index of the kernel chosen for one type, -1: none. Kernels have the names of their targets.
  int32_t choose(fovea_dtype dtype, const detail::Capabilities& capabilities) const;

  std::vector<fovea_target_info> targets;
  std::vector<fovea_kernel_info> kernels;
  fovea_variant_info variant;
  fovea_library_info library;
};

}  // namespace fovea::test
