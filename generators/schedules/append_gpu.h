// append_gpu.h: the GPU schedule of the append pass and its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_APPEND_GPU_H
#define FOVEA_GENERATORS_SCHEDULES_APPEND_GPU_H

#include <string>

#include "generators/pipelines/append_grid.h"

namespace fovea {

// A block of threads writes one token of one KV head, in a launch for each tensor.
struct AppendGpuSchedule {
  int threads = 64;

  std::string text() const;
  AppendGpuSchedule with(const std::string& text) const;
};

// Throws std::invalid_argument naming the parameter, its value and the rule.
void check(const AppendGpuSchedule& schedule);

void schedule_append(AppendGrid& pipeline, const AppendGpuSchedule& schedule);

}  // namespace fovea

#endif
