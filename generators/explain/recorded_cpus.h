// recorded_cpus.h: CPUs that are not at hand, by what CPUID and XCR0 say on them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EXPLAIN_RECORDED_CPUS_H
#define FOVEA_GENERATORS_EXPLAIN_RECORDED_CPUS_H

#include <span>
#include <string>

#include "runtime/src/cpu_detect.h"
#include "runtime/src/selection.h"

namespace fovea {

struct RecordedCpu {
  const char* name;
  detail::X86Leaves leaves;
};

std::span<const RecordedCpu> recorded_cpus();

// What a process may use on it; of this machine, with its environment, if the name is "here".
// Throws std::invalid_argument for a name that is not recorded.
detail::Capabilities capabilities_of(const std::string& cpu);

}  // namespace fovea

#endif
