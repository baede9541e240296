// append_binder.cpp: the names of parameters, then places. SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/append_binder.h"

#include <map>
#include <string>

namespace fovea {

BindDeclaration append_binder(const Variant& variant,
                              const std::vector<Halide::Parameter>& parameters,
                              const Halide::Expr& batch, const Halide::Expr& kv_head,
                              const Halide::Expr& key) {
  std::map<std::string, Halide::Parameter> by_name;
  size_t next = 0;
  for (const size_t i : variant.cached_parameters())
    by_name[variant.parameters()[i]->name] = parameters[next++];
  BindDeclaration b(by_name);
  b.bind("batch", batch).bind("kv_head", kv_head).bind("k", key);
  return b;
}

}  // namespace fovea
