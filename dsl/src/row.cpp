// row.cpp: the symbols of a row transform.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/row.h>

#include <sstream>

namespace fovea {
namespace {

namespace ir = Halide::Internal;

Expr call(Halide::Type type, const char* name, std::vector<Expr> arguments) {
  return ir::Call::make(type, name, arguments, ir::Call::PureExtern);
}

std::string type_text(const Expr& e) {
  if (!e.defined()) return "undefined";
  std::ostringstream out;
  out << "of type " << e.type();
  return out.str();
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
  if (!feature.defined() || !feature.type().is_int_or_uint()) {
    throw DeclarationError(variant_, field_, "a row read with an index " + type_text(feature),
                           "an index is an integer expression", "use d, d + 1, row.size() - d, …");
  }
  return call(Halide::Float(32), row_calls::entry, {Halide::cast<int32_t>(feature)});
}

Expr Row::size() const { return call(Halide::Int(32), row_calls::size, {}); }

Expr Row::reduce_(const char* name, const std::function<Expr(Expr)>& term) const {
  const Expr e = term(ir::Variable::make(Halide::Int(32), row_calls::index));
  if (!e.defined() || e.type() != Halide::Float(32)) {
    throw DeclarationError(variant_, field_, "a row reduction whose term is " + type_text(e),
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
