// block_conditions.h: a lowering pass that keeps dead key blocks from being computed on a GPU.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_BLOCK_CONDITIONS_H
#define FOVEA_GENERATORS_LOWERING_BLOCK_CONDITIONS_H

#include <Halide.h>

#include <utility>
#include <vector>

#include "generators/lowering/skip_blocks.h"

namespace fovea {

// What SkipBlocks does on a CPU, where shared memory has taken away the names of the buffers: puts
// the block_conditions (pipelines/key_block_stage.h) found in the body of a loop around it, the
// barriers in it included. All threads of a block must find the same. For
// Pipeline::add_custom_lowering_pass.
class BlockConditions : public Halide::Internal::IRMutator {
 public:
  explicit BlockConditions(std::vector<BlockLoopName> loops) : loops_(std::move(loops)) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;
  Halide::Expr visit(const Halide::Internal::Call* op) override;

  std::vector<BlockLoopName> loops_;
  bool is_known_ = false;  // inside a loop, under its conditions
};

}  // namespace fovea

#endif
