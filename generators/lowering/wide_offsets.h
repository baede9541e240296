// wide_offsets.h: offsets of rows in 64 bits, from Funcs that hold them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_WIDE_OFFSETS_H
#define FOVEA_GENERATORS_LOWERING_WIDE_OFFSETS_H

#include <Halide.h>

#include <map>
#include <string>

namespace fovea {

// An offset in 64 bits as an index. Halide does not look into it for bounds: where two versions of
// a loop read the same rows, Halide 21 fails to merge what it finds there.
inline constexpr const char* narrowed_name = "fovea_narrowed";
Halide::Expr narrowed(const Halide::Expr& offset);

// Halide takes an index of a buffer in 32 bits and widens it when it becomes part of an offset.
// Where a 64-bit number was narrowed for that, both conversions are taken out again. Calls of
// narrowed() must be.
class WideOffsets : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::Cast* op) override;
  Halide::Expr visit(const Halide::Internal::Call* op) override;
  Halide::Expr visit(const Halide::Internal::Variable* op) override;
  Halide::Expr visit(const Halide::Internal::Let* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::LetStmt* op) override;

  std::map<std::string, Halide::Expr> narrowed_;  // variables, and what was narrowed to them
};

}  // namespace fovea

#endif
