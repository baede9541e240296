// tested_libraries.cpp: what the worker holds. SPDX-License-Identifier: Apache-2.0
#include "libraries.h"
#include "tests/support/test_kernel.h"

namespace fovea::test {

std::vector<const fovea_library_info*> tested_libraries() {
  std::vector<const fovea_library_info*> all;
  for (const auto& library : library_functions) all.push_back(library());
  return all;
}

}  // namespace fovea::test
