// kernel_inputs.h: what kernels of every pass take, as Halide parameters.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_KERNEL_INPUTS_H
#define FOVEA_GENERATORS_PIPELINES_KERNEL_INPUTS_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <vector>

#include "generators/pipelines/attention_tiling.h"

namespace fovea {

struct KernelInputs {
  Halide::ImageParam q, k, v;
  Halide::Param<int> q_offset, q_len, kv_len, batch, kv_head;
  Halide::Param<float> scale;
  std::vector<Halide::Parameter> parameters;  // of the variant, in declaration order

  void append_parameters(std::vector<Halide::Argument>& arguments) const;
};

// q has its features in dimension 0 and any rows in the others; k and v are (feature, row).
KernelInputs make_kernel_inputs(const Variant& variant, const AttentionTiling& tiling,
                                int q_dimensions);

}  // namespace fovea

#endif
