// prefill_cpu.h: the CPU schedule of the prefill pass and its parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_SCHEDULES_PREFILL_CPU_H
#define FOVEA_GENERATORS_SCHEDULES_PREFILL_CPU_H

#include <string>

#include "generators/pipelines/prefill.h"
#include "generators/targets/target_table.h"

namespace fovea {

// Query rows are the vector lanes; keys and values enter as scalars that are broadcast. Register
// use of the two inner loops: row_vectors * key_tile (or * feature_group) accumulators, row_vectors
// operands, one broadcast. A block of rows is taken in row_tiles parts, so that what is done once
// for a block of keys (widening, packing) is done for more rows than fit in registers.
struct PrefillCpuSchedule {
  int lanes = 0;          // floats of one vector of the target
  int row_vectors = 0;    // vectors of query rows in a tile
  int row_tiles = 1;      // tiles of a block: bq = lanes * row_vectors * row_tiles
  int key_tile = 0;       // keys of one register tile of the products
  int feature_group = 0;  // features of one register tile of weights * values; divides d_v
  int key_block = 0;  // bk, a multiple of key_tile: scores of bq x bk stay in the first-level cache
  int feature_unroll = 0;  // steps of the feature loop between two branches; divides d_qk
  int key_unroll = 0;      // the same for the key loop of weights * values; divides key_block
  int tail_bodies = 0;     // narrower bodies for blocks that do not fill their rows
  bool dot_pairs = false;  // bf16 products by the target's dot product of pairs, not widened

  static constexpr int most_row_tiles = 16;
  int tile_rows() const { return lanes * row_vectors; }
  int block_rows() const { return tile_rows() * row_tiles; }
  // "lanes=16 row_vectors=4 …": part of the kernel's identity, shown in the manifest.
  std::string text() const;
  // This schedule with the parameters that such a text names, separated by spaces or commas. Throws
  // std::invalid_argument naming the parameter, its value and what is allowed.
  PrefillCpuSchedule with(const std::string& text) const;
};

// The documented default for a variant on a target; docs/schedules.md says what each number was
// measured against.
PrefillCpuSchedule default_prefill_schedule(const TargetRow& target, const Variant& variant,
                                            Element element, int d_qk, int d_v,
                                            CacheKind cache = CacheKind::None);

// Throws std::invalid_argument naming the parameter, its value and the rule.
void check(const PrefillCpuSchedule& schedule, const Variant& variant, Element element, int d_qk,
           int d_v, CacheKind cache = CacheKind::None);

AttentionTiling tiling(const PrefillCpuSchedule& schedule, Element element, int d_qk, int d_v,
                       CacheKind cache = CacheKind::None);

// Applies the schedule. The pipeline must have been made with tiling(schedule, …).
void schedule_prefill(PrefillPipeline& pipeline, const PrefillCpuSchedule& schedule);

}  // namespace fovea

#endif
