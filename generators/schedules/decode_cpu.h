// decode_cpu.h: the CPU schedule of the decode pass and its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_DECODE_CPU_H
#define FOVEA_GENERATORS_SCHEDULES_DECODE_CPU_H

#include <string>
#include <vector>

#include "generators/lowering/skip_blocks.h"
#include "generators/pipelines/decode.h"
#include "generators/targets/target_table.h"

namespace fovea {

// Features are the vector lanes: keys and values are read as they lie. Products are added up
// across lanes for `lanes` (row, key) pairs at once, as many rows as the tile has by as many keys
// as fill the vector. A kernel holds a part for single rows and one for tiles of wide_rows.
struct DecodeCpuSchedule {
  int lanes = 0;      // floats of one vector of the target
  int wide_rows = 0;  // rows of the wider tile: a power of two up to lanes; 1: there is none
  // Rows of a third tile, a power of two up to lanes; 0: there is none. With dot_pairs its rows are
  // the vector lanes of scores, and values are multiplied in pairs of keys, too.
  int widest_rows = 0;
  int key_block = 0;  // bk: keys that share one maximum; a multiple of lanes
  int chunk_blocks =
      0;                // blocks of one chunk: what a worker takes at once, and a record stands for
  int key_streams = 1;  // places of a block from which keys are read in turn: divides key_block
  // How many key blocks ahead keys and values are asked for, into the second-level cache; 0: not
  // before they are read.
  int prefetch_blocks = 0;
  // Features of a row next to each other in a vector of products of tiles of several rows: lanes
  // (one row a vector), or 4 (those of lanes / 4 rows, by 4 features of a key).
  int product_features = 0;
  int value_vectors = 0;   // vectors of features of one register tile of weights * values
  int feature_unroll = 0;  // steps of the feature loop between two branches
  bool dot_pairs = false;  // bf16 scores by the target's dot product of pairs, not widened

  // "lanes=16 wide_rows=4 …": part of the kernel's identity, shown in the manifest.
  std::string text() const;
  // This schedule with the parameters that such a text names, separated by spaces or commas. Throws
  // std::invalid_argument naming the parameter, its value and what is allowed.
  DecodeCpuSchedule with(const std::string& text) const;

  // Rows of the tiles that kernels are made for, rising.
  std::vector<int> tile_rows() const;
};

// The documented default for a variant on a target; docs/schedules.md says what each number was
// measured against.
DecodeCpuSchedule default_decode_schedule(const TargetRow& target, const Variant& variant,
                                          Element element, int d_qk, int d_v,
                                          CacheKind cache = CacheKind::None);

// Throws std::invalid_argument naming the parameter, its value and the rule.
void check(const DecodeCpuSchedule& schedule);

AttentionTiling tiling(const DecodeCpuSchedule& schedule, const Variant& variant, Element element,
                       int d_qk, int d_v, int rows, CacheKind cache = CacheKind::None);

// Apply the schedule. The pipelines must have been made with tiling(schedule, …).
void schedule_decode_part(DecodePart& part, const DecodeCpuSchedule& schedule);
void schedule_decode_finish(DecodeFinish& finish);
void schedule_decode_range(DecodeRange& range);

// The loops over key blocks of a scheduled part, by the names that lowering gives them.
std::vector<BlockLoopName> block_loops(const DecodePart& part);

}  // namespace fovea

#endif
