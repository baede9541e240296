// grid_items.cpp: scalars of an item become indices of the grid.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/grid_items.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

constexpr const char* axis_names[] = {"block_id_x", "block_id_y", "block_id_z"};

// Whether a loop over blocks stands inside.
bool has_block_loop(const ir::Stmt& s) {
  struct Find : ir::IRVisitor {
    using ir::IRVisitor::visit;
    void visit(const ir::For* op) override {
      found = found || op->for_type == ir::ForType::GPUBlock;
      ir::IRVisitor::visit(op);
    }
    bool found = false;
  } find;
  s.accept(&find);
  return find.found;
}

// Elements on from where the buffer begins.
Expr from(const std::string& start, const Expr& index) {
  const int lanes = index.type().lanes();
  const Expr first = ir::Variable::make(Halide::Int(64), start);
  const Expr wide = ir::Cast::make(Halide::Int(64, lanes), index);
  return wide + (lanes > 1 ? ir::Broadcast::make(first, lanes) : first);
}

}  // namespace

bool GridItems::follows_grid_(const Expr& e) const {
  for (const auto& axis : axes_) {
    for (const std::string& scalar : axis) {
      if (ir::expr_uses_var(e, scalar)) return true;
    }
  }
  for (const auto& [name, value] : moved_) {
    if (ir::expr_uses_var(e, name)) return true;
  }
  return false;
}

ir::Stmt GridItems::visit(const ir::LetStmt* op) {
  if (depth_ == 0 && follows_grid_(op->value)) {
    moved_.emplace_back(op->name, op->value);
    return mutate(op->body);
  }
  return ir::IRMutator::visit(op);
}

ir::Stmt GridItems::visit(const ir::For* op) {
  if (op->for_type != ir::ForType::GPUBlock) {
    if (depth_ == 0 && (follows_grid_(op->min) || follows_grid_(op->extent)))
      throw std::logic_error(fmt::format("the extent of loop {} differs between tiles", op->name));
    return ir::IRMutator::visit(op);
  }
  if (follows_grid_(op->min) || follows_grid_(op->extent))
    throw std::logic_error(fmt::format("the extent of the grid in {} differs in it", op->name));
  // Halide may append "$1" to the axis, where a name like it was taken when it chose one.
  const std::string axis_of_loop = op->name.substr(0, op->name.find('$', op->name.rfind('.')));
  const Expr index = ir::Variable::make(Halide::Int(32), op->name);
  bool is_known = false;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!ir::ends_with(axis_of_loop, axis_names[axis])) continue;
    is_known = true;
    for (const std::string& scalar : axes_[axis])
      items_[scalar] = ir::Variable::make(Halide::Int(32), scalar) + index;
  }
  if (!is_known) throw std::logic_error(fmt::format("loop {} is no axis of the grid", op->name));
  ++depth_;
  ir::Stmt body = op->body;
  if (!has_block_loop(body)) {
    // Innermost first: a value may use those before it.
    for (auto it = moved_.rbegin(); it != moved_.rend(); ++it)
      body = ir::substitute(it->first, it->second, body);
    body = ir::simplify(ir::substitute(items_, body));
  }
  body = mutate(body);
  --depth_;
  return ir::For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy,
                       op->device_api, body);
}

ir::Stmt GridItems::visit(const ir::Store* op) {
  const auto start = starts_.find(op->name);
  if (start == starts_.end()) return ir::IRMutator::visit(op);
  return ir::Store::make(op->name, mutate(op->value), from(start->second, mutate(op->index)),
                         op->param, mutate(op->predicate), ir::ModulusRemainder());
}

Expr GridItems::visit(const ir::Load* op) {
  const auto start = starts_.find(op->name);
  if (start == starts_.end()) return ir::IRMutator::visit(op);
  return ir::Load::make(op->type, op->name, from(start->second, mutate(op->index)), op->image,
                        op->param, mutate(op->predicate), ir::ModulusRemainder());
}

}  // namespace fovea
