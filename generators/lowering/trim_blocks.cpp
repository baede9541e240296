// trim_blocks.cpp: the range of a reduction, given to the loops before it.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/trim_blocks.h"

#include <map>
#include <string>
#include <utility>

#include "generators/lowering/plain_index.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using ir::Stmt;

// A loop that starts elsewhere than at 0 has been moved there, and got a suffix.
bool is_loop(const std::string& name, const std::string& of) {
  return name == of || name == of + ".rebased";
}

// Where the reduction starts and how many keys it takes, in terms of what is known at the start of
// the code that is searched.
class FindRange : public ir::IRVisitor {
 public:
  explicit FindRange(const TrimmedBlock& block) : block_(block) {}

  Expr first, count;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::LetStmt* op) override {
    bound_[op->name] = op->value;
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::Let* op) override {
    bound_[op->name] = op->value;
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::For* op) override {
    if (!is_loop(op->name, block_.reduction)) {
      ir::IRVisitor::visit(op);
      return;
    }
    count = plain_index(op->extent, bound_);
    bound_[op->name] = op->min;
    inside_ = true;
    op->body.accept(this);
    inside_ = false;
  }
  void visit(const ir::Load* op) override {
    if (!inside_ || first.defined() || op->name != block_.weights) return;
    Expr index = op->index;
    if (const auto* ramp = index.as<ir::Ramp>()) index = ramp->base;
    if (!index.type().is_scalar()) return;
    // The weights of one key lie together, so the rest of the division is a row.
    first = ir::simplify(Halide::cast<int32_t>(plain_index(index, bound_) / block_.rows));
  }

  const TrimmedBlock& block_;
  std::map<std::string, Expr> bound_;
  bool inside_ = false;
};

class SetRanges : public ir::IRMutator {
 public:
  SetRanges(const TrimmedBlock& block, Expr first, Expr end)
      : block_(block), first_(std::move(first)), end_(std::move(end)) {}

 private:
  using ir::IRMutator::visit;
  Stmt visit(const ir::For* op) override {
    for (const TrimmedBlock::Producer& p : block_.producers) {
      if (op->name != p.loop) continue;
      const int steps = p.multiple / p.step;
      const Expr from = ir::simplify(first_ / p.multiple * steps);
      const Expr to = ir::simplify((end_ + (p.multiple - 1)) / p.multiple * steps);
      return ir::For::make(op->name, from, ir::simplify(Halide::max(to - from, 0)), op->for_type,
                           op->partition_policy, op->device_api, op->body);
    }
    return ir::IRMutator::visit(op);
  }

  const TrimmedBlock& block_;
  Expr first_, end_;
};

Stmt trimmed(const Stmt& body, const TrimmedBlock& block) {
  FindRange range(block);
  body.accept(&range);
  if (!range.first.defined() || !range.count.defined()) return body;
  if (ir::is_const(range.count, block.keys)) return body;
  const std::string name = ir::unique_name(block.weights + ".first_key");
  const std::string end_name = ir::unique_name(block.weights + ".end_key");
  const Expr first = ir::Variable::make(Halide::Int(32), name);
  const Expr end = ir::Variable::make(Halide::Int(32), end_name);
  const Stmt inner = SetRanges(block, first, end).mutate(body);
  return ir::LetStmt::make(
      name, range.first,
      ir::LetStmt::make(end_name, ir::simplify(first + Halide::max(range.count, 0)), inner));
}

}  // namespace

Stmt TrimBlocks::visit(const ir::For* op) {
  Stmt body = op->body;
  for (const TrimmedBlock& block : blocks_) {
    if (is_loop(op->name, block.loop)) body = trimmed(body, block);
  }
  if (body.same_as(op->body)) return ir::IRMutator::visit(op);
  return ir::For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy,
                       op->device_api, body);
}

}  // namespace fovea
