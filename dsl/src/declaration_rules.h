// declaration_rules.h: what one part of a declaration may be built from.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_SRC_DECLARATION_RULES_H
#define FOVEA_DSL_SRC_DECLARATION_RULES_H

#include <fovea/dsl/variant.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace fovea::detail {

// The symbols open to one kind of part, besides the parameters of the variant, and what an author
// is told about others.
struct Scope {
  const char* noun;             // "a mask"
  std::set<std::string> names;  // of position.h
  const char* rule;             // what the part depends on
  const char* remedy;           // where other fields of the position belong
  bool reads_row = false;
  int slices = 0;  // outputs of slices
};

extern const Scope query_scope, key_scope, value_scope, output_scope, score_scope, mask_scope,
    sink_scope, weight_scope, divisor_scope, factor_scope;
Scope combination_scope(int slices);

// Runs the author's code and checks what it made. Throws DeclarationError for `field`.
Expr checked_part(const Variant& variant, const std::string& field, const Scope& scope,
                  Halide::Type type, const std::function<Expr()>& part);

// The free variables, table reads and calls of an expression.
class NameCollector : public Halide::Internal::IRGraphVisitor {
 public:
  // Every one in each type and shape that it is used with.
  std::set<std::pair<std::string, Halide::Type>> variables;
  std::multimap<std::string, const Halide::Internal::Call*> tables;
  std::set<std::string> extents;
  std::set<std::string> impure;  // calls a declaration cannot contain
  bool reads_row = false;

 private:
  using Halide::Internal::IRGraphVisitor::visit;
  void visit(const Halide::Internal::Variable* op) override;
  void visit(const Halide::Internal::Call* op) override;
};

}  // namespace fovea::detail

#endif
