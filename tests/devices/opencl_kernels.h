// opencl_kernels.h: the kernels for OpenCL of the device libraries, and their declarations.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_DEVICES_OPENCL_KERNELS_H
#define FOVEA_TESTS_DEVICES_OPENCL_KERNELS_H

#include <fovea/dsl/register.h>
#include <fovea/registry.h>

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "fovea_device_dims.h"
#include "fovea_device_half.h"
#include "fovea_device_kinds.h"
#include "fovea_device_tables.h"
#include "runtime/src/gpu/device.h"

namespace fovea::test {

struct Case {
  const fovea_library_info* library;
  int32_t kernel;

  const fovea_kernel_info& info() const { return library->kernels[kernel]; }
};
inline void PrintTo(const Case& c, std::ostream* out) { *out << c.info().name; }

inline std::vector<Case> device_kernels() {
  std::vector<Case> cases;
  for (const fovea_library_info* library :
       {fovea_device_kinds_library(), fovea_device_half_library(), fovea_device_tables_library(),
        fovea_device_dims_library()}) {
    for (int32_t i = 0; i < library->kernel_count; ++i) {
      const fovea_target_info& target = library->targets[library->kernels[i].target];
      if (detail::device_of(target.architecture) == FOVEA_DEVICE_OPENCL)
        cases.push_back({library, i});
    }
  }
  return cases;
}

inline const Variant& declaration_of(const Case& c) {
  static const std::vector<Variant> declared = declared_variants();
  const std::string name = c.library->variants[c.info().variant].name;
  for (const Variant& v : declared) {
    if (v.name() == name) return v;
  }
  throw std::logic_error("the test program lacks the declaration of " + name);
}

}  // namespace fovea::test

#endif
