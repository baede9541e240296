// decode.h: the decode algorithm of a variant as named Halide Funcs: few query rows, many keys.
//
// The query heads that share a KV head, and the few rows of each, are the rows of one tile, so that
// keys and values are read once. The keys are split into chunks. A part kernel makes of one tile
// and one chunk a record (weighted values, sum, maximum) for each row; the finish kernel merges the
// records of a row in the order of the chunks. A range kernel says which key blocks count at all.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_DECODE_H
#define FOVEA_GENERATORS_PIPELINES_DECODE_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <vector>

#include "generators/pipelines/finished_rows.h"
#include "generators/pipelines/key_block_stage.h"

namespace fovea {

// The arguments of a part kernel, in the order of registry.h; q is (feature, head of the group,
// row). Row r of a tile is row (first_row + r) / heads of the sequence in query head
// kv_head * heads + (first_row + r) % heads; rows past the last one repeat it.
struct DecodeInputs : KernelInputs {
  Halide::Param<int> heads;  // that share the KV head
  Halide::Param<int> first_row;
  Halide::Param<int> block_begin, block_end;  // of the chunk

  std::vector<Halide::Argument> arguments() const;
};

// One slice of features.
struct DecodeState {
  KeyBlockStage full, partial;
  // (lane, slot, group, qi): slots are vectors of the output, then the sum and, of a softmax, the
  // maximum, the same in every lane.
  Halide::Func state;
};

struct DecodePart {
  const Variant* variant = nullptr;
  AttentionTiling tiling;
  DecodeInputs inputs;
  RowChain queries;  // (qi, d)
  QueryRows query;
  bool has_full = true;             // false: the mask has no block that is provably visible whole
  std::vector<DecodeState> states;  // one for each slice
  Halide::Func records;             // (lane, slot, group, qi), the slots of all slices
};

// The tile status must belong to variant.mask() and to 1 x key_block tiles.
DecodePart make_decode_part(const Variant& variant, const AttentionTiling& tiling,
                            const TileStatus& status);

// One row. Its records are (lane, slot, group, chunk).
struct FinishInputs : KernelInputs {
  Halide::ImageParam records;
  Halide::Param<int> head, row;

  std::vector<Halide::Argument> arguments() const;
};

struct DecodeFinish {
  struct Merge {
    Halide::Func maximum;  // (qi); softmax only
    Halide::Func total;    // (lane, slot, group, qi)
    Halide::RDom max_chunks, chunks;
  };
  AttentionTiling tiling;
  FinishInputs inputs;
  std::vector<Merge> merges;  // one for each slice
  FinishedRows finished;
  Halide::Func out;                    // (d, qi)
  Halide::Func lse, row_max, row_sum;  // (qi), each undefined unless the variant returns it

  // out, then the extra outputs in the order of registry.h.
  std::vector<Halide::Func> outputs() const;
};

DecodeFinish make_decode_finish(const Variant& variant, const AttentionTiling& tiling);

// The first key block that some row of a KV head sees, and the one after the last.
struct DecodeRange {
  DecodeInputs inputs;
  Halide::Func first, end;  // no dimension; undefined if every block may count
  Halide::RDom blocks;
  Halide::Func range;    // (0: first, 1: end)
  bool of_head = false;  // whether it differs between the heads of a sequence

  std::vector<Halide::Argument> arguments() const;
};

DecodeRange make_decode_range(const Variant& variant, const AttentionTiling& tiling,
                              const TileStatus& status);

// Slots of one slice in a group, and groups: the layout of records.
int record_slots(const Variant& variant, const AttentionTiling& tiling);
int record_groups(const AttentionTiling& tiling);

}  // namespace fovea

#endif
