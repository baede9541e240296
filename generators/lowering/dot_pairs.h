// dot_pairs.h: a lowering pass that turns dot products of pairs into what code generation knows.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_DOT_PAIRS_H
#define FOVEA_GENERATORS_LOWERING_DOT_PAIRS_H

#include <Halide.h>

namespace fovea {

// Replaces every dot_pair (pipelines/element.h), by then a vector, by the reduction that Halide's
// code generation matches to one instruction. An algorithm cannot write that reduction itself: its
// operands are two bf16 lanes for each 32-bit lane in memory. For
// Pipeline::add_custom_lowering_pass.
class ExpandDotPairs : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::Call* op) override;
};

}  // namespace fovea

#endif
