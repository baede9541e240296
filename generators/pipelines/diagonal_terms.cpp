// diagonal_terms.cpp: finds the terms by writing k as q - distance.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/diagonal_terms.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

constexpr const char* distance_name = "diagonal.distance";
// Instructions of a vector, about. What costs no more is computed faster than it is loaded.
constexpr int cheap = 2;

class Cost : public ir::IRGraphVisitor {
 public:
  int instructions = 0;

  void include(const Expr& e) override {
    const bool leaf = e.as<ir::Variable>() != nullptr || ir::is_const(e);
    if (!leaf) instructions += e.as<ir::Call>() || e.as<ir::Div>() || e.as<ir::Mod>() ? 4 : 1;
    ir::IRGraphVisitor::include(e);
  }
};

class Separate : public ir::IRMutator {
 public:
  std::vector<DiagonalTerms::Term> terms;

  Expr mutate(const Expr& e) override {
    const Expr value = as_term_(e);
    if (!value.defined()) return ir::IRMutator::mutate(e);
    for (const DiagonalTerms::Term& t : terms) {
      if (ir::equal(t.value, value)) return ir::Variable::make(e.type(), t.symbol);
    }
    terms.push_back({"diagonal." + std::to_string(terms.size()), value});
    return ir::Variable::make(e.type(), terms.back().symbol);
  }
  using ir::IRMutator::mutate;

 private:
  static Expr as_term_(const Expr& e) {
    const bool number = e.type() == Halide::Float(32) || e.type() == Halide::Int(32);
    if (!number || !ir::expr_uses_var(e, "q") || !ir::expr_uses_var(e, "k") ||
        ir::expr_uses_var(e, "score") || ir::expr_uses_var(e, "row"))
      return Expr();
    const Expr q = ir::Variable::make(Halide::Int(32), "q");
    const Expr value = ir::simplify(ir::substitute("k", q - diagonal_distance(), e));
    if (ir::expr_uses_var(value, "q")) return Expr();
    Cost cost;
    cost.include(value);
    return cost.instructions > cheap ? value : Expr();
  }
};

}  // namespace

Expr diagonal_distance() { return ir::Variable::make(Halide::Int(32), distance_name); }

DiagonalTerms separate_diagonals(const Expr& expression) {
  Separate separate;
  const Expr rest = separate.mutate(expression);
  return {rest, std::move(separate.terms)};
}

}  // namespace fovea
