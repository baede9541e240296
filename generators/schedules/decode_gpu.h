// decode_gpu.h: the GPU schedule of the decode pass and its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_DECODE_GPU_H
#define FOVEA_GENERATORS_SCHEDULES_DECODE_GPU_H

#include <string>

#include "generators/pipelines/decode_grid.h"
#include "generators/schedules/prefill_gpu.h"

namespace fovea {

// A block of threads of the part computes one tile of rows and one chunk of keys, as one of prefill
// does a block of rows and all keys: few rows, and more keys beside each other. A block of the
// finish merges the records of one row.
struct DecodeGpuSchedule : PrefillGpuSchedule {
  int chunk_blocks = 8;  // blocks of keys in a chunk

  std::string text() const;
  DecodeGpuSchedule with(const std::string& text) const;
};

DecodeGpuSchedule default_decode_gpu_schedule(const Variant& variant, int d_qk, int d_v,
                                              CacheKind cache);

// Throws std::invalid_argument naming the parameter, its value and the rule.
void check(const DecodeGpuSchedule& schedule, int d_v);

// Of the finish.
AttentionTiling finish_tiling(const DecodeGpuSchedule& schedule, Element element, int d_qk,
                              int d_v);

// Apply the schedule. The part must have been made with tiling(schedule, …), the finish with
// finish_tiling.
// language: as of prefill.
void schedule_grid_part(GridPart& part, const DecodeGpuSchedule& schedule,
                        const GridLanguage& language);
void schedule_grid_finish(GridFinish& finish);

}  // namespace fovea

#endif
