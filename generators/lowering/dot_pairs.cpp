// dot_pairs.cpp: vdpbf16ps by way of a vector reduction over pairs of lanes.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/dot_pairs.h"

#include "generators/pipelines/element.h"

namespace fovea {

namespace ir = Halide::Internal;
using Halide::Expr;

Expr ExpandDotPairs::visit(const ir::Call* op) {
  if (op->name != dot_pair_name) return ir::IRMutator::visit(op);
  const int lanes = op->type.lanes();
  const auto numbers = [&](const Expr& pairs) {
    const Halide::Type stored = Halide::BFloat(16, 2 * lanes);
    return ir::Cast::make(Halide::Float(32, 2 * lanes), ir::Reinterpret::make(stored, pairs));
  };
  const Expr products = numbers(mutate(op->args[0])) * numbers(mutate(op->args[1]));
  return ir::VectorReduce::make(ir::VectorReduce::Add, products, lanes);
}

}  // namespace fovea
