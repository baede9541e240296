// fetch_ahead.h: a lowering pass that asks for memory some time before it is read.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_FETCH_AHEAD_H
#define FOVEA_GENERATORS_LOWERING_FETCH_AHEAD_H

#include <Halide.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fovea {

inline constexpr int line_bytes = 64;

inline constexpr const char* fetch_ahead_name = "fovea_fetch_ahead";

// `value`, and a wish: what `later` loads from the kernel's inputs is needed soon. Nothing is read
// there, so it may lie outside of the tensor.
Halide::Expr fetch_ahead(const Halide::Expr& value, const Halide::Expr& later);

// Turns wishes into prefetches to the second-level cache, one for each line of memory that the body
// of a loop asks for, in front of the statement with the wish. Halide's own prefetch() is no help:
// its hint is to the first-level cache and for writing, and it steps by elements where lines are
// meant. For Pipeline::add_custom_lowering_pass, after all passes that look for patterns.
class FetchAhead : public Halide::Internal::IRMutator {
 public:
  explicit FetchAhead(std::set<std::string> inputs) : inputs_(std::move(inputs)) {}

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::LetStmt* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::Store* op) override;

  const std::set<std::string> inputs_;
  std::map<std::string, Halide::Expr> bound_;  // names and what they stand for
  // Inputs and elements, of the body of the innermost loop.
  std::vector<std::pair<std::string, Halide::Expr>> asked_;
};

}  // namespace fovea

#endif
