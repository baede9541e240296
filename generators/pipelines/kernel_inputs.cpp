// kernel_inputs.cpp: Halide parameters of kernels, the variant's own among them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/kernel_inputs.h"

namespace fovea {

using Halide::Expr;

KernelInputs make_kernel_inputs(const Variant& variant, const AttentionTiling& tiling,
                                int q_dimensions) {
  const Halide::Type type = stored_type(tiling.element);
  KernelInputs in{Halide::ImageParam(type, q_dimensions, "query_in"),
                  Halide::ImageParam(type, 2, "key_in"),
                  Halide::ImageParam(type, 2, "value_in"),
                  Halide::Param<int>("q_offset"),
                  Halide::Param<int>("q_len"),
                  Halide::Param<int>("kv_len"),
                  Halide::Param<int>("batch"),
                  Halide::Param<int>("kv_head"),
                  Halide::Param<float>("scale"),
                  {}};
  for (Halide::ImageParam* p : {&in.q, &in.k, &in.v}) {
    p->dim(0).set_bounds(0, p == &in.v ? tiling.d_v : tiling.d_qk);
    for (int i = 1; i < p->dimensions(); ++i) p->dim(i).set_min(0);
  }
  for (const auto& p : variant.parameters()) {
    // Named apart from the kernel's own arguments: a variant may call its scalar "scale" or
    // "q_block".
    const std::string name = "parameter_" + p->name;
    if (p->kind == Parameter::Kind::Scalar) {
      in.parameters.emplace_back(p->type, false, 0, name);
    } else {
      Halide::ImageParam table(p->type, static_cast<int>(p->axes.size()), name);
      for (int i = 0; i < table.dimensions(); ++i) table.dim(i).set_min(0);
      table.dim(0).set_stride(Expr());  // any stride, broadcast included
      in.parameters.push_back(table.parameter());
    }
  }
  return in;
}

void KernelInputs::append_parameters(std::vector<Halide::Argument>& arguments) const {
  for (const Halide::Parameter& p : parameters) {
    arguments.emplace_back(
        p.name(), p.is_buffer() ? Halide::Argument::InputBuffer : Halide::Argument::InputScalar,
        p.type(), p.is_buffer() ? p.dimensions() : 0, p.get_argument_estimates());
  }
}

}  // namespace fovea
