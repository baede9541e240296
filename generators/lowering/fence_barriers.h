// fence_barriers.h: a lowering pass that makes every barrier one of shared memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_FENCE_BARRIERS_H
#define FOVEA_GENERATORS_LOWERING_FENCE_BARRIERS_H

#include <Halide.h>

namespace fovea {

// Halide asks for a fence where a thread reads what another has stored. Where one stores over what
// others have read, as in the next iteration of a loop, its barrier has none, and in OpenCL C such
// a barrier orders no memory: a compiler may move the reads past it. For
// Pipeline::add_custom_lowering_pass, before GPU code is split off.
class FenceBarriers : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::Call* op) override;
};

}  // namespace fovea

#endif
