// block_conditions.cpp: marked conditions around the bodies of loops over key blocks.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/block_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include "generators/pipelines/key_block_stage.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

// The marked conditions of a statement, in terms of what is known before it.
class MarkedConditions : public ir::IRVisitor {
 public:
  std::vector<Expr> found;

 private:
  using ir::IRVisitor::visit;
  template <typename Let>
  void visit_let(const Let* op) {
    op->value.accept(this);
    lets_[op->name] = ir::substitute(lets_, op->value);
    op->body.accept(this);
    lets_.erase(op->name);
  }
  void visit(const ir::LetStmt* op) override { visit_let(op); }
  void visit(const ir::Let* op) override { visit_let(op); }
  void visit(const ir::Call* op) override {
    if (op->name != block_condition_name) return ir::IRVisitor::visit(op);
    const Expr condition = ir::substitute(lets_, ir::substitute_in_all_lets(op->args[0]));
    if (std::none_of(found.begin(), found.end(),
                     [&](const Expr& other) { return ir::equal(other, condition); }))
      found.push_back(condition);
  }

  std::map<std::string, Expr> lets_;
};

}  // namespace

ir::Stmt BlockConditions::visit(const ir::For* op) {
  for (const BlockLoopName& loop : loops_) {
    if (op->name != loop.loop) continue;
    MarkedConditions conditions;
    op->body.accept(&conditions);
    Expr all;
    for (const Expr& condition : conditions.found)
      all = all.defined() ? all && condition : condition;
    if (!all.defined()) {
      if (!loop.required) break;
      throw std::logic_error(fmt::format("no condition on a whole block in loop {}", loop.loop));
    }
    is_known_ = true;
    const ir::Stmt body = mutate(op->body);
    is_known_ = false;
    return ir::For::make(
        op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api,
        ir::IfThenElse::make(ir::common_subexpression_elimination(ir::simplify(all)), body));
  }
  return ir::IRMutator::visit(op);
}

Expr BlockConditions::visit(const ir::Call* op) {
  if (op->name != block_condition_name) return ir::IRMutator::visit(op);
  return is_known_ ? ir::const_true() : mutate(op->args[0]);
}

}  // namespace fovea
