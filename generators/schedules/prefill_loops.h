// prefill_loops.h: the loops of a scheduled prefill pipeline, by the names that lowering gives
// them. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_PREFILL_LOOPS_H
#define FOVEA_GENERATORS_SCHEDULES_PREFILL_LOOPS_H

#include <vector>

#include "generators/lowering/skip_blocks.h"
#include "generators/lowering/trim_blocks.h"
#include "generators/pipelines/prefill.h"
#include "generators/schedules/prefill_cpu.h"

namespace fovea {

// The loops over key blocks.
std::vector<BlockLoopName> block_loops(const AttentionTile& tile);

// The loops over the keys of partly visible blocks.
std::vector<TrimmedBlock> trimmed_blocks(const PrefillPipeline& pipeline,
                                         const PrefillCpuSchedule& schedule);

}  // namespace fovea

#endif
