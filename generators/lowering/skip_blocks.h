// skip_blocks.h: a lowering pass that keeps dead key blocks from being computed.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_SKIP_BLOCKS_H
#define FOVEA_GENERATORS_LOWERING_SKIP_BLOCKS_H

#include <Halide.h>

#include <string>
#include <utility>
#include <vector>

namespace fovea {

// A loop over key blocks and the buffer in which its results end up.
struct BlockLoopName {
  std::string loop;    // of the reduction variable
  std::string result;  // everything else that the body stores to is allocated inside it
  // The body must not run for a block whose condition does not hold (its keys may not exist):
  // std::logic_error if no condition is found.
  bool required = false;
};

// Halide computes what a block needs before it asks whether the block counts, if that question
// reads what another Func has stored. This pass puts the conditions that guard every store to
// `result` around the whole body of the loop. For Pipeline::add_custom_lowering_pass.
class SkipBlocks : public Halide::Internal::IRMutator {
 public:
  explicit SkipBlocks(std::vector<BlockLoopName> loops) : loops_(std::move(loops)) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;

  std::vector<BlockLoopName> loops_;
};

}  // namespace fovea

#endif
