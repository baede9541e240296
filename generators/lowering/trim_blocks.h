// trim_blocks.h: a lowering pass that computes only the keys of a block that some row sees.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_TRIM_BLOCKS_H
#define FOVEA_GENERATORS_LOWERING_TRIM_BLOCKS_H

#include <Halide.h>

#include <string>
#include <utility>
#include <vector>

namespace fovea {

// The loops over the keys of a partly visible block, by the names that lowering gives them.
struct TrimmedBlock {
  std::string loop;  // over the blocks
  // Of the reduction that reads one weight a key. Halide has cut it down to the keys that count.
  std::string reduction;
  std::string weights;  // the buffer it reads,
  int rows = 0;         // with so many elements a key
  int keys = 0;         // of a whole block
  // Loops over keys that fill what the reduction reads.
  struct Producer {
    std::string loop;
    int multiple = 1;  // its range is rounded outwards to so many keys
    int step = 1;      // keys of one iteration; divides `multiple`
  };
  std::vector<Producer> producers;
};

// Halide trims the loops that a condition belongs to, not those that compute what they read: a
// block of which one key is visible would be scored whole. This pass gives the loops of the
// producers the range of the reduction. For Pipeline::add_custom_lowering_pass.
class TrimBlocks : public Halide::Internal::IRMutator {
 public:
  explicit TrimBlocks(std::vector<TrimmedBlock> blocks) : blocks_(std::move(blocks)) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;

  std::vector<TrimmedBlock> blocks_;
};

}  // namespace fovea

#endif
