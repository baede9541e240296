// register_tiles.h: a lowering pass that keeps accumulators out of memory.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_REGISTER_TILES_H
#define FOVEA_GENERATORS_LOWERING_REGISTER_TILES_H

#include <Halide.h>

namespace fovea {

// Code generation gives a new allocation the place of a freed one of the same type. A tile of
// accumulators that inherits the place of something with a running index can then not be put into
// registers: every step of its inner loop stores it (measured: half the speed). This pass gives
// what is scheduled with store_in(MemoryType::Register) an element type of its own. For
// Pipeline::add_custom_lowering_pass.
class SeparateRegisterTiles : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::Allocate* op) override;
};

}  // namespace fovea

#endif
