// aligned_reads.h: a lowering pass that tells what rows are read at once.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_ALIGNED_READS_H
#define FOVEA_GENERATORS_LOWERING_ALIGNED_READS_H

#include <Halide.h>

#include <set>
#include <string>
#include <utility>

namespace fovea {

// Reads of 16 neighbouring bytes of some buffers, in the loops that a schedule has made for them,
// get an index that code generators know as that of neighbours. Under the condition that a scalar
// is not 0 rows begin at multiples of 16 bytes, and so do these reads; Halide cannot know it, this
// pass says so. With `as_words` numbers in fewer than 32 bits are then read as words, because
// Halide's code for PTX reads vectors of nothing else at once. For
// Pipeline::add_custom_lowering_pass, after GridItems.
class AlignedReads : public Halide::Internal::IRMutator {
 public:
  AlignedReads(std::set<std::string> buffers, std::string condition, bool as_words)
      : buffers_(std::move(buffers)), condition_(std::move(condition)), as_words_(as_words) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::LetStmt* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::IfThenElse* op) override;
  Halide::Expr visit(const Halide::Internal::Load* op) override;

  const std::set<std::string> buffers_;
  bool is_condition_(const Halide::Expr& e) const;

  const std::string condition_;
  const bool as_words_;
  std::set<std::string> names_;  // of the condition, where it was moved out of loops
  bool is_aligned_ = false;
};

}  // namespace fovea

#endif
