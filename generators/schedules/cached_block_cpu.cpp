// cached_block_cpu.cpp: keys are the vector lanes.
// SPDX-License-Identifier: Apache-2.0
#include "generators/schedules/cached_block_cpu.h"

namespace fovea {

using namespace tile_vars;
using Halide::Func;

void schedule_cached_block(CachedBlock& cached, const Halide::LoopLevel& level, int key_block,
                           int lanes) {
  if (!cached.is_defined()) return;
  for (CachedRows* rows : {&cached.keys, &cached.values}) {
    for (KeyOffsets* offsets : {&rows->rows, &rows->ahead, &rows->scales}) {
      if (!offsets->f.defined()) continue;
      offsets->f.compute_at(level)
          .bound_extent(block, 1)
          .bound(j, 0, key_block)
          .vectorize(j, lanes);
      int update = 0;
      for (const Halide::RDom& keys : {offsets->straight, offsets->scattered}) {
        if (keys.defined()) offsets->f.update(update++).vectorize(keys.x, lanes);
      }
    }
    if (!rows->scale.defined()) continue;
    rows->scale.compute_at(level)
        .bound_extent(block, 1)
        .bound(j, 0, key_block)
        .bound_storage(group, rows->most_groups)
        .reorder(j, group)
        .reorder_storage(j, group)
        .vectorize(j, lanes);
    if (!rows->side_by_side.defined()) continue;
    int update = 0;
    for (const Halide::RDom& keys : {rows->apart, rows->side_by_side})
      rows->scale.update(update++).reorder(keys.x, group).vectorize(keys.x, lanes);
  }
}

}  // namespace fovea
