// default_target.cpp: the target that the dispatcher would choose on this machine.
// SPDX-License-Identifier: Apache-2.0
#include "bench/default_target.h"

#include <fmt/format.h>
#include <fovea/registry.h>

#include <cstdint>
#include <stdexcept>

#include "generators/targets/target_table.h"
#include "runtime/src/cpu_detect.h"
#include "runtime/src/preference.h"

namespace fovea::bench {

std::string default_target(fovea_dtype dtype, const std::string& dtype_name) {
  static const fovea_target_info rows[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  {name, architecture, (__VA_ARGS__), preference},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
  };
  const fovea_target_info* best = nullptr;
  int32_t preference = 0;
  for (const fovea_target_info& row : rows) {
    const bool runs = std::string(row.architecture) == detail::cpu_architecture() &&
                      (row.needed_features & ~detail::cpu_features()) == 0 &&
                      find_target(row.name)->is_for(dtype_name);
    const int32_t value = detail::preference_of(row, dtype, detail::cpu_family()).value;
    if (!runs || (best && value <= preference)) continue;
    best = &row;
    preference = value;
  }
  if (!best)
    throw std::runtime_error(fmt::format("this CPU runs no target with kernels of {}", dtype_name));
  return best->name;
}

}  // namespace fovea::bench
