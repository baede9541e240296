// kernel_inputs.cpp: Halide parameters of kernels, the variant's own among them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/kernel_inputs.h"

#include <numeric>

namespace fovea {

using Halide::Expr;

std::vector<Halide::Parameter> make_parameters(const Variant& variant) {
  std::vector<size_t> all(variant.parameters().size());
  std::iota(all.begin(), all.end(), size_t{0});
  return make_parameters(variant, all);
}

std::vector<Halide::Parameter> make_parameters(const Variant& variant,
                                               const std::vector<size_t>& which) {
  std::vector<Halide::Parameter> parameters;
  for (const size_t i : which) {
    const auto& p = variant.parameters()[i];
    // Named apart from the kernel's own arguments: a variant may call its scalar "scale" or
    // "q_block".
    const std::string name = "parameter_" + p->name;
    if (p->kind == Parameter::Kind::Scalar) {
      parameters.emplace_back(p->type, false, 0, name);
    } else {
      Halide::ImageParam table(p->type, static_cast<int>(p->axes.size()), name);
      for (int axis = 0; axis < table.dimensions(); ++axis) table.dim(axis).set_min(0);
      table.dim(0).set_stride(Expr());  // any stride, broadcast included
      parameters.push_back(table.parameter());
    }
  }
  return parameters;
}

KernelInputs make_kernel_inputs(const Variant& variant, const AttentionTiling& tiling,
                                int q_dimensions) {
  const Halide::Type type = tiling.grid ? bits_type(tiling.element) : stored_type(tiling.element);
  const Halide::Type key_type =
      is_quantised(tiling.cache) ? stored_type(tiling.element, tiling.cache) : type;
  const auto rows = [&](const char* name) {
    return is_cache(tiling.cache) ? make_slots(key_type, name, tiling.grid)
                                  : Halide::ImageParam(key_type, tiling.grid ? 4 : 2, name);
  };
  KernelInputs in{Halide::ImageParam(type, q_dimensions, "query_in"),
                  rows("key_in"),
                  rows("value_in"),
                  Halide::Param<int>("q_offset"),
                  Halide::Param<int>("q_len"),
                  Halide::Param<int>("kv_len"),
                  Halide::Param<int>("batch"),
                  Halide::Param<int>("kv_head"),
                  Halide::Param<float>("scale"),
                  make_cache_inputs(tiling.cache, tiling.grid),
                  make_parameters(variant),
                  Halide::Param<int>("wide_reads")};
  for (Halide::ImageParam* p : {&in.q, &in.k, &in.v}) {
    const int features = p == &in.v ? tiling.d_v : tiling.d_qk;
    p->dim(0).set_bounds(0, p == &in.q ? features : stored_size(features, tiling.cache));
    for (int i = 1; i < p->dimensions(); ++i) p->dim(i).set_min(0);
  }
  return in;
}

void append_parameters(const std::vector<Halide::Parameter>& parameters,
                       std::vector<Halide::Argument>& arguments) {
  for (const Halide::Parameter& p : parameters) {
    arguments.emplace_back(
        p.name(), p.is_buffer() ? Halide::Argument::InputBuffer : Halide::Argument::InputScalar,
        p.type(), p.is_buffer() ? p.dimensions() : 0, p.get_argument_estimates());
  }
}

}  // namespace fovea
