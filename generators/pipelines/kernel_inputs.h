// kernel_inputs.h: what kernels of every pass take, as Halide parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_KERNEL_INPUTS_H
#define FOVEA_GENERATORS_PIPELINES_KERNEL_INPUTS_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <vector>

#include "generators/pipelines/attention_tiling.h"
#include "generators/pipelines/cache_inputs.h"

namespace fovea {

// The variant's own, in declaration order: all of them, or these.
std::vector<Halide::Parameter> make_parameters(const Variant& variant);
std::vector<Halide::Parameter> make_parameters(const Variant& variant,
                                               const std::vector<size_t>& which);
void append_parameters(const std::vector<Halide::Parameter>& parameters,
                       std::vector<Halide::Argument>& arguments);

struct KernelInputs {
  Halide::ImageParam q, k, v;
  Halide::Param<int> q_offset, q_len, kv_len, batch, kv_head;
  Halide::Param<float> scale;
  CacheInputs cache;
  std::vector<Halide::Parameter> parameters;
  // Of a grid: not 0 if every row of q, k and v begins at a multiple of FOVEA_WIDE_READ bytes.
  Halide::Param<int> wide_reads;
};

// q has its features in dimension 0 and any rows in the others; k and v are (feature, row), or with
// a cache as make_slots has them. Of a grid all others are (feature, row, head, sequence).
KernelInputs make_kernel_inputs(const Variant& variant, const AttentionTiling& tiling,
                                int q_dimensions);

}  // namespace fovea

#endif
