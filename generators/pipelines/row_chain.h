// row_chain.h: the row transforms of a declaration as Funcs.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_ROW_CHAIN_H
#define FOVEA_GENERATORS_PIPELINES_ROW_CHAIN_H

#include <Halide.h>

#include <functional>
#include <string>
#include <vector>

#include "generators/pipelines/bind_declaration.h"

namespace fovea {

// One transform: reductions over the row before it, then its entries.
struct RowStep {
  struct Reduction {
    Halide::Func f;
    Halide::RDom features;
    bool is_sum = true;  // else the largest, which keeps NaN and cannot be split into lanes
  };
  std::vector<Reduction> reductions;
  Halide::Func row;
};

// Rows through all transforms of one kind.
struct RowChain {
  std::vector<RowStep> steps;  // empty: rows are read as they are
};

// How the rows of a chain are laid out: the arguments of its Funcs with the feature at
// feature_axis; reductions have the others.
struct RowLayout {
  std::vector<Halide::Var> arguments;
  int feature_axis = 0;
  int size = 0;  // features
};

// `source` reads the rows before the first transform, at the given arguments. `binder` knows
// everything but the row and its feature.
RowChain make_row_chain(const std::string& name, const std::vector<Halide::Expr>& transforms,
                        const RowLayout& layout, const BindDeclaration& binder,
                        const std::function<Halide::Expr(std::vector<Halide::Expr>)>& source);

}  // namespace fovea

#endif
