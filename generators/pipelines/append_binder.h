// append_binder.h: what the transforms of keys and values may name while a cache is filled.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_APPEND_BINDER_H
#define FOVEA_GENERATORS_PIPELINES_APPEND_BINDER_H

#include <Halide.h>
#include <fovea/dsl/variant.h>

#include <vector>

#include "generators/pipelines/bind_declaration.h"

namespace fovea {

// `parameters` are those of variant.cached_parameters(), in their order; `key` is the position of a
// token in its sequence.
BindDeclaration append_binder(const Variant& variant,
                              const std::vector<Halide::Parameter>& parameters,
                              const Halide::Expr& batch, const Halide::Expr& kv_head,
                              const Halide::Expr& key);

}  // namespace fovea

#endif
