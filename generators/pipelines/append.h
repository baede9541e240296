// append.h: new tokens into the slots of a KV cache, as named Halide Funcs.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_APPEND_H
#define FOVEA_GENERATORS_PIPELINES_APPEND_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <string>
#include <vector>

#include "generators/pipelines/appended_rows.h"
#include "generators/pipelines/kernel_inputs.h"

namespace fovea {

// Sizes that shape the algorithm.
struct AppendTiling {
  Element element = Element::F32;  // of the new rows
  CacheKind cache = CacheKind::Same;
  int d_qk = 0, d_v = 0;
  int block_rows = 0;  // most rows of a call
};

// The arguments of the kernel, in the order of registry.h.
struct AppendInputs {
  Halide::ImageParam k_new, v_new;  // (feature, row)
  Halide::Param<int> first_key, batch, kv_head;
  Halide::Param<int> k_group_shift, v_group_shift, has_scales;  // of a quantised cache
  CacheKind cache;
  std::vector<Halide::Parameter> parameters;  // Variant::cached_parameters()

  std::vector<Halide::Argument> arguments() const;
};

struct AppendPipeline {
  AppendTiling tiling;
  AppendInputs inputs;
  AppendedRows keys, values;

  std::vector<Halide::Func> outputs() const;
};

AppendPipeline make_append(const Variant& variant, const AppendTiling& tiling);

// Why the variant's transforms of keys and values cannot be done once and for all; empty if they
// can.
std::string why_not_cached(const Variant& variant);

}  // namespace fovea

#endif
