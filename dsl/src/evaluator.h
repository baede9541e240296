// evaluator.h: the interpreter behind evaluate(), one object per call.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_EVALUATOR_H
#define FOVEA_DSL_SRC_EVALUATOR_H

#include <fovea/dsl/evaluate.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fovea::detail {

// Expressions are graphs with shared nodes (a score step that uses its score twice doubles the tree
// at every step), so every node is evaluated once, for all lanes, and remembered by its identity.
template <typename Real>
class Evaluator {
 public:
  explicit Evaluator(const Environment<Real>& environment)
      : environment_(environment), lanes_(environment.lanes) {}

  // The reference stays valid as long as the evaluator; it may point into the environment.
  const Lanes<Real>& value(const Expr& e);

 private:
  // For the term of a row reduction: `index` stands for row.index.
  Evaluator(const Environment<Real>& environment, size_t lanes, Lanes<Real> index)
      : environment_(environment), lanes_(lanes), row_index_(std::move(index)) {}

  Lanes<Real> node_(const Expr& e);
  Lanes<Real> binary_(Halide::Internal::IRNodeType operation, const Expr& a, const Expr& b);
  Lanes<Real> logical_(Halide::Internal::IRNodeType operation, const Expr& a, const Expr& b);
  Lanes<Real> real_binary_(Halide::Internal::IRNodeType operation, const Lanes<Real>& a,
                           const Lanes<Real>& b);
  Lanes<Real> integer_binary_(Halide::Internal::IRNodeType operation, Halide::Type type,
                              const Lanes<Real>& a, const Lanes<Real>& b);
  Lanes<Real> select_(const Expr& condition, const Expr& yes, const Expr& no);
  Lanes<Real> cast_(Halide::Type to, const Expr& from);
  Lanes<Real> reinterpret_(Halide::Type to, const Expr& from);
  const Lanes<Real>& variable_(const Halide::Internal::Variable& variable);

  // Calls, in evaluate_call.cpp.
  Lanes<Real> call_(const Halide::Internal::Call& call);
  Lanes<Real> intrinsic_(const Halide::Internal::Call& call);
  Lanes<Real> strict_(const Halide::Internal::Call& call);
  Lanes<Real> integer_intrinsic_(const Halide::Internal::Call& call);
  Lanes<Real> mux_(const Halide::Internal::Call& call);
  Lanes<Real> math_(const Halide::Internal::Call& call);
  Lanes<Real> table_(const Halide::Internal::Call& call);
  Lanes<Real> extent_(const Halide::Internal::Call& call);

  // Calls on the row, in evaluate_row.cpp.
  Lanes<Real> row_(const Halide::Internal::Call& call);
  Lanes<Real> reduction_(bool is_sum, const Expr& term);

  const Environment<Real>& environment_;
  size_t lanes_;
  Lanes<Real> row_index_;  // without values: not inside a reduction
  std::unordered_map<const Halide::Internal::IRNode*, Lanes<Real>> values_;
  std::vector<Expr> without_lets_;  // keeps rewritten nodes alive, and so their identity unique
};

// Throws std::invalid_argument: the interpreter does not know `operation`.
[[noreturn]] void refuse_operation(const std::string& operation);

}  // namespace fovea::detail

#endif
