// dense_tables.cpp: finds calls whose one index is the key itself and another the row.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/dense_tables.h"

#include <string_view>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

// The axis that runs over keys where the others do not ask about them, or -1. Only of axes that are
// long enough for every key no index has to be cut down to the axis.
int key_axis_of(const ir::Call& call, const Parameter& table) {
  int axis = -1;
  bool of_row = false;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Expr& index = call.args[i];
    const auto* variable = index.as<ir::Variable>();
    const Axis::Kind kind = table.axes[i].kind;
    const bool every_key = kind == Axis::Kind::Key || kind == Axis::Kind::Position;
    if (variable != nullptr && variable->name == "k" && every_key && axis < 0) {
      axis = static_cast<int>(i);
      continue;
    }
    if (ir::expr_uses_var(index, "k") || ir::expr_uses_var(index, "score")) return -1;
    of_row = of_row || ir::expr_uses_var(index, "q") || ir::expr_uses_var(index, "row");
  }
  return of_row ? axis : -1;
}

}  // namespace

Expr SeparateDenseTables::visit(const ir::Call* op) {
  const std::string_view name = op->name;
  if (op->call_type != ir::Call::PureExtern || !name.starts_with(table_prefix))
    return ir::IRMutator::visit(op);
  for (const DenseTable& t : tables) {
    if (ir::equal(t.entry, op)) return ir::Variable::make(op->type, t.symbol);
  }
  const std::string_view table = name.substr(std::string_view(table_prefix).size());
  const auto& parameters = variant_.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i]->name != table) continue;
    const int axis = key_axis_of(*op, *parameters[i]);
    if (axis < 0) break;
    tables.push_back({"dense." + std::to_string(tables.size()), op, static_cast<int>(i), axis});
    return ir::Variable::make(op->type, tables.back().symbol);
  }
  return ir::IRMutator::visit(op);
}

}  // namespace fovea
