// bind_declaration.cpp: symbols, tables, rows and functions of a declaration inside a kernel.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/bind_declaration.h"

#include <string_view>
#include <utility>
#include <vector>

#include "generators/pipelines/math.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

std::string_view without_prefix(const std::string& name, const char* prefix) {
  return std::string_view(name).substr(std::string_view(prefix).size());
}

Expr extent_of(const Halide::Parameter& table, int axis) {
  return ir::Variable::make(Halide::Int(32), table.name() + ".extent." + std::to_string(axis),
                            table);
}

class LosesNan : public ir::IRGraphVisitor {
 public:
  bool found = false;

 private:
  using ir::IRGraphVisitor::visit;
  template <typename Node>
  void found_in_(const Node* op) {
    found = found || op->a.type().is_float();
    ir::IRGraphVisitor::visit(op);
  }
  void visit(const ir::Min* op) override { found_in_(op); }
  void visit(const ir::Max* op) override { found_in_(op); }
  void visit(const ir::LT* op) override { found_in_(op); }
  void visit(const ir::LE* op) override { found_in_(op); }
  void visit(const ir::GT* op) override { found_in_(op); }
  void visit(const ir::GE* op) override { found_in_(op); }
  void visit(const ir::EQ* op) override { found_in_(op); }
  void visit(const ir::NE* op) override { found_in_(op); }
  void visit(const ir::Call* op) override {
    const bool is_table = std::string_view(op->name).starts_with(table_prefix);
    if (op->type.is_float() && !is_table && op->name != "tanh_f32" && op->name != "sqrt_f32" &&
        !op->is_intrinsic(ir::Call::abs)) {
      found = true;
    }
    ir::IRGraphVisitor::visit(op);
  }
};

}  // namespace

BindDeclaration& BindDeclaration::bind(const std::string& name, Expr value) {
  values_[name] = std::move(value);
  return *this;
}

BindDeclaration& BindDeclaration::bind_inside(const std::string& name, Expr value) {
  inside_ = name;
  return bind(name, std::move(value));
}

BindDeclaration& BindDeclaration::bind_row(RowSource row) {
  row_ = std::move(row);
  return *this;
}

Expr BindDeclaration::visit(const ir::Variable* op) {
  if (const auto value = values_.find(op->name); value != values_.end()) return value->second;
  if (const auto p = parameters_.find(op->name); p != parameters_.end()) {
    return ir::Variable::make(op->type, p->second.name(), p->second);
  }
  return op;
}

Expr BindDeclaration::table_entry_(const ir::Call& op, const Halide::Parameter& table) {
  std::vector<Expr> indices;
  for (size_t i = 0; i < op.args.size(); ++i) {
    const Expr index = mutate(op.args[i]);
    const auto* variable = op.args[i].as<ir::Variable>();
    const bool inside = variable != nullptr && variable->name == inside_;
    // Masked positions read too; the clamp keeps their (unused) index inside.
    indices.push_back(inside ? index
                             : Halide::clamp(index, 0, extent_of(table, static_cast<int>(i)) - 1));
  }
  const Expr entry = ir::Call::make(table, indices);
  // Integer entries take part in sums of positions like scalars do, and keep to the same range.
  return entry.type().is_int() ? Halide::clamp(entry, -largest_integer, largest_integer) : entry;
}

Expr BindDeclaration::visit(const ir::Call* op) {
  // Of the functions that dsl.h names, the one that Halide leaves to the C library, lane by lane.
  if (op->is_extern() && op->name == "tanh_f32") return tanh_rational(mutate(op->args[0]));
  // Generated code for these makes a number of NaN.
  if (op->is_extern() && (op->name == "exp_f32" || op->name == "log_f32")) {
    const Expr argument = mutate(op->args[0]);
    return keep_nan(argument, ir::Call::make(op->type, op->name, {argument}, op->call_type));
  }
  if (op->call_type != ir::Call::PureExtern) return ir::IRMutator::visit(op);
  const std::string_view name = op->name;
  if (name.starts_with(table_prefix)) {
    return table_entry_(*op, parameters_.at(std::string(without_prefix(op->name, table_prefix))));
  }
  if (name.starts_with(extent_prefix)) {
    return extent_of(parameters_.at(std::string(without_prefix(op->name, extent_prefix))),
                     static_cast<int>(*ir::as_const_int(op->args[0])));
  }
  if (name == row_calls::size) return row_.size;
  if (name == row_calls::entry) {
    const Expr feature = mutate(op->args[0]);
    // The feature itself, or the variable of a reduction, is inside by construction.
    const bool inside = op->args[0].as<ir::Variable>() != nullptr;
    return row_.entry(inside ? feature : Halide::clamp(feature, 0, row_.size - 1));
  }
  if (name == row_calls::sum || name == row_calls::largest) return row_.reduce(*op);
  return ir::IRMutator::visit(op);
}

bool may_lose_nan(const Expr& e) {
  LosesNan visitor;
  e.accept(&visitor);
  return visitor.found;
}

Expr has_nan_bits(const Expr& value) {
  const int32_t infinity = 0x7f800000, no_sign = 0x7fffffff;
  return (Halide::reinterpret<int32_t>(value) & no_sign) > infinity;
}

Expr keep_nan(const Expr& source, const Expr& value) {
  return Halide::reinterpret<float>(Halide::select(has_nan_bits(source),
                                                   Halide::reinterpret<int32_t>(source),
                                                   Halide::reinterpret<int32_t>(value)));
}

}  // namespace fovea
