// dot_pairs.cpp: vdpbf16ps by way of a vector reduction over pairs of lanes.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/dot_pairs.h"

#include <stdexcept>

#include "generators/lowering/plain_index.h"
#include "generators/pipelines/element.h"

namespace fovea {

namespace ir = Halide::Internal;
using Halide::Expr;

namespace {

// As many pairs as `first` has elements.
Expr whole_pairs(const Expr& first) {
  const auto* load = first.as<ir::Load>();
  if (!load) throw std::logic_error("a stored pair is no load");
  const int elements = 2 * load->type.lanes();
  const Expr begin = ir::simplify(first_lane(load->index));
  const Expr index = ir::Ramp::make(begin, ir::make_one(begin.type()), elements);
  return ir::Load::make(load->type.with_lanes(elements), load->name, index, load->image,
                        load->param, ir::const_true(elements), ir::ModulusRemainder());
}

}  // namespace

Expr ExpandDotPairs::visit(const ir::Call* op) {
  if (op->name != dot_pair_name) return ir::IRMutator::visit(op);
  const int lanes = op->type.lanes();
  const auto numbers = [&](const Expr& pairs) {
    if (const auto* stored = pairs.as<ir::Call>(); stored && stored->name == stored_pair_name)
      return ir::Cast::make(Halide::Float(32, 2 * lanes), whole_pairs(stored->args[0]));
    const Halide::Type stored = Halide::BFloat(16, 2 * lanes);
    return ir::Cast::make(Halide::Float(32, 2 * lanes), ir::Reinterpret::make(stored, pairs));
  };
  const Expr products = numbers(mutate(op->args[0])) * numbers(mutate(op->args[1]));
  return ir::VectorReduce::make(ir::VectorReduce::Add, products, lanes);
}

}  // namespace fovea
