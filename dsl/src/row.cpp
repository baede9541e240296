// row.cpp: the symbols of a row transform.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/row.h>

#include "expression_text.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

Expr call(Halide::Type type, const char* name, std::vector<Expr> arguments) {
  return ir::Call::make(type, name, arguments, ir::Call::PureExtern);
}

class FindsReduction : public ir::IRGraphVisitor {
 public:
  bool found = false;

 private:
  using ir::IRGraphVisitor::visit;
  void visit(const ir::Call* op) override {
    found = found || op->name == row_calls::sum || op->name == row_calls::largest;
    ir::IRGraphVisitor::visit(op);
  }
};

}  // namespace

Expr Row::operator()(Expr feature) const {
  if (!feature.defined() || !feature.type().is_int_or_uint() || feature.type().is_bool()) {
    throw DeclarationError(
        variant_, field_,
        "a row read with an index " +
            (feature.defined() ? detail::type_phrase(feature) : "that is undefined"),
        "an index is an integer expression", "use d, d + 1, row.size() - d, …");
  }
  return call(Halide::Float(32), row_calls::entry, {Halide::cast<int32_t>(feature)});
}

Expr Row::size() const { return call(Halide::Int(32), row_calls::size, {}); }

Expr Row::reduce_(const char* name, const std::function<Expr(Expr)>& term) const {
  const Expr e = term(ir::Variable::make(Halide::Int(32), row_calls::index));
  if (!e.defined() || e.type() != Halide::Float(32)) {
    throw DeclarationError(variant_, field_,
                           "a row reduction whose term is " + detail::type_phrase(e),
                           "a term is a float32 expression", "wrap it in cast<float>(…)");
  }
  FindsReduction inner;
  e.accept(&inner);
  if (inner.found) {
    throw DeclarationError(variant_, field_, "a row reduction inside a row reduction",
                           "a term reads entries, tables and the position",
                           "split the transform into two: the second sees the rows of the first");
  }
  return call(Halide::Float(32), name, {e});
}

Expr Row::sum(const std::function<Expr(Expr)>& term) const { return reduce_(row_calls::sum, term); }

Expr Row::largest(const std::function<Expr(Expr)>& term) const {
  return reduce_(row_calls::largest, term);
}

Expr Row::mean_square() const {
  return sum([this](Expr j) { return (*this)(j) * (*this)(j); }) / Halide::cast<float>(size());
}

}  // namespace fovea
