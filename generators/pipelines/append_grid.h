// append_grid.h: new tokens into a cache in memory of a device.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_APPEND_GRID_H
#define FOVEA_GENERATORS_PIPELINES_APPEND_GRID_H

#include <Halide.h>

#include <string>
#include <vector>

#include "generators/pipelines/append.h"
#include "generators/pipelines/cache_inputs.h"

namespace fovea {

// The arguments of the kernel, in the order of registry.h. Tokens of some sequences that have as
// many of them, and as many keys before.
struct AppendGridInputs {
  Halide::ImageParam k_new, v_new;  // (feature, row, KV head, sequence)
  Halide::Param<int64_t> k_new_start, v_new_start;
  Halide::Param<int> first_key, kv_head, batch, sequence;  // of the first block
  Halide::Param<int> rows, heads, sequences;
  CacheInputs cache;  // without its scales, which are outputs
  Halide::Param<int> k_group_shift, v_group_shift, has_scales;
  std::vector<Halide::Parameter> parameters;  // Variant::cached_parameters()

  // Of an output, where an element of a slot of a page of a KV head lies.
  struct Place {
    Halide::Param<int64_t> start;
    Halide::Param<int> elements, slot_stride, page_stride, head_stride;
  };
  std::vector<Place> places;  // in the order of the outputs

  std::vector<Halide::Argument> arguments() const;
};

// What is written to one tensor: (element, offset of the row), in places that follow from the block
// table. Only the update writes.
struct AppendOutput {
  Halide::Func f;
  AppendedRows rows;
  Halide::RDom tokens;  // (element, row, KV head, sequence)
  int elements = 0;     // of a row; of scales the most that there can be
};

struct AppendGrid {
  AppendTiling tiling;
  AppendGridInputs inputs;
  std::vector<AppendOutput> outputs;  // keys, values, of a quantised cache their scales
};

AppendGrid make_append_grid(const Variant& variant, const AppendTiling& tiling);

// The dimensions of Funcs of rows besides the feature or group.
std::vector<Halide::Var> append_points();

}  // namespace fovea

#endif
