// default_target.cpp: the target that the dispatcher would choose on this machine.
// SPDX-License-Identifier: Apache-2.0
#include "bench/default_target.h"

#include <fmt/format.h>
#include <fovea/registry.h>

#include <cstdint>
#include <iterator>
#include <stdexcept>

#include "runtime/src/cpu_detect.h"

namespace fovea::bench {

std::string default_target(const std::string& dtype) {
  struct Row {
    const char* name;
    const char* architecture;
    int preference;
    uint64_t needed;
  };
  static const Row rows[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  {name, architecture, preference, (__VA_ARGS__)},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
  };
  const Row* best = nullptr;
  for (const Row& row : rows) {
    const bool runs = std::string(row.architecture) == detail::cpu_architecture() &&
                      (row.needed & ~detail::cpu_features()) == 0;
    if (runs && (!best || row.preference > best->preference)) best = &row;
  }
  if (!best)
    throw std::runtime_error(fmt::format("this CPU runs no target with kernels of {}", dtype));
  return best->name;
}

}  // namespace fovea::bench
