// bind_declaration.h: from the symbols of a declaration to expressions of a kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_BIND_DECLARATION_H
#define FOVEA_GENERATORS_PIPELINES_BIND_DECLARATION_H

#include <Halide.h>

#include <fovea/dsl/variant.h>

#include <functional>
#include <map>
#include <string>

namespace fovea {

// What a row transform reads: the row before it.
struct RowSource {
  int size = 0;
  std::function<Halide::Expr(Halide::Expr feature)> entry;
  // The reduction that this call of row_calls::sum or row_calls::largest stands for.
  std::function<Halide::Expr(const Halide::Internal::Call& reduction)> reduce;
};

class BindDeclaration : public Halide::Internal::IRMutator {
 public:
  // Run-time parameters by name.
  explicit BindDeclaration(const std::map<std::string, Halide::Parameter>& parameters)
      : parameters_(parameters) {}

  BindDeclaration& bind(const std::string& name, Halide::Expr value);
  // The same; as an index of a table the value is inside without being cut down to the axis.
  BindDeclaration& bind_inside(const std::string& name, Halide::Expr value);
  BindDeclaration& bind_row(RowSource row);

 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Expr visit(const Halide::Internal::Variable* op) override;
  Halide::Expr visit(const Halide::Internal::Call* op) override;
  Halide::Expr table_entry_(const Halide::Internal::Call& op, const Halide::Parameter& table);

  std::map<std::string, Halide::Parameter> parameters_;
  std::map<std::string, Halide::Expr> values_;
  std::string inside_;
  RowSource row_;
};

// True if some operation of `e` may turn a NaN operand into a number: comparisons, selects, minima,
// maxima, and functions whose generated code assumes that there are none.
bool may_lose_nan(const Halide::Expr& e);

// `value`, or NaN where `source` is NaN. By bits: generated code is compiled under the assumption
// that there are no NaNs.
Halide::Expr keep_nan(const Halide::Expr& source, const Halide::Expr& value);
Halide::Expr has_nan_bits(const Halide::Expr& value);

}  // namespace fovea

#endif
