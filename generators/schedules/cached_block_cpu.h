// cached_block_cpu.h: what is found out about a block of a cache before its keys are read.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_CACHED_BLOCK_CPU_H
#define FOVEA_GENERATORS_SCHEDULES_CACHED_BLOCK_CPU_H

#include "generators/pipelines/cached_block.h"

namespace fovea {

// Computed at `level`, once for a block of keys. Does nothing without a cache.
void schedule_cached_block(CachedBlock& cached, const Halide::LoopLevel& level, int key_block,
                           int lanes);

}  // namespace fovea

#endif
