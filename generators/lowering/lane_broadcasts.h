// lane_broadcasts.h: a lowering pass that loads neighbouring scalars as one vector and multiplies
// by its lanes. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_LANE_BROADCASTS_H
#define FOVEA_GENERATORS_LOWERING_LANE_BROADCASTS_H

#include <Halide.h>

namespace fovea {

// Keys and values enter the products of prefill as scalars that are broadcast. Arm multiplies a
// vector by one lane of another, so four neighbouring scalars cost one load; loaded and broadcast
// one by one they cost a load and a vector operation each, which take turns with the
// multiplications. Where a loop body, without nested loops and conditions, broadcasts four
// neighbouring f32 numbers of a buffer that it does not write, this pass loads them together. For
// Pipeline::add_custom_lowering_pass.
class LaneBroadcasts : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;
};

}  // namespace fovea

#endif
