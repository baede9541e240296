// append_cpu.h: the CPU schedule of the append pass and its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_APPEND_CPU_H
#define FOVEA_GENERATORS_SCHEDULES_APPEND_CPU_H

#include <string>

#include "generators/pipelines/append.h"
#include "generators/pipelines/tile_context.h"
#include "generators/targets/target_table.h"

namespace fovea {

// Features are the vector lanes: rows come and go as they lie.
struct AppendCpuSchedule {
  int lanes = 0;       // floats of one vector of the target
  int block_rows = 0;  // most rows of a call, whose transforms are kept in the worker's scratch

  std::string text() const;
  AppendCpuSchedule with(const std::string& text) const;
};

AppendCpuSchedule default_append_schedule(const TargetRow& target);

// Throws std::invalid_argument naming the parameter, its value and the rule.
void check(const AppendCpuSchedule& schedule);

// The pipeline must have been made with as many block_rows.
void schedule_append(AppendPipeline& pipeline, const AppendCpuSchedule& schedule);

}  // namespace fovea

#endif
