// skip_blocks.cpp: conditions around the bodies of loops over key blocks.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/skip_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

void split_conjunction(const Expr& e, std::vector<Expr>& parts) {
  if (const auto* both = e.as<ir::And>()) {
    split_conjunction(both->a, parts);
    split_conjunction(both->b, parts);
  } else {
    parts.push_back(e);
  }
}

// The conditions under which every store to one buffer stands, in terms of what is known before the
// body of the loop.
class GuardsOfStores : public ir::IRVisitor {
 public:
  explicit GuardsOfStores(std::string buffer) : buffer_(std::move(buffer)) {}

  std::vector<Expr> common_guards() const {
    std::vector<Expr> known_outside;
    for (const Expr& guard : common_) {
      if (is_known_outside_(guard)) known_outside.push_back(guard);
    }
    return known_outside;
  }

 private:
  using ir::IRVisitor::visit;

  bool is_known_outside_(const Expr& e) const {
    class Uses : public ir::IRGraphVisitor {
     public:
      explicit Uses(const std::set<std::string>& names) : names_(names) {}
      bool found = false;

     private:
      using ir::IRGraphVisitor::visit;
      void visit(const ir::Variable* op) override { found = found || names_.count(op->name) != 0; }
      void visit(const ir::Load* op) override {
        found = found || names_.count(op->name) != 0;
        ir::IRGraphVisitor::visit(op);
      }
      const std::set<std::string>& names_;
    } uses(inside_);
    e.accept(&uses);
    return !uses.found;
  }

  void visit(const ir::LetStmt* op) override {
    lets_[op->name] = ir::substitute(lets_, op->value);
    ir::IRVisitor::visit(op);
    lets_.erase(op->name);
  }
  void visit(const ir::Allocate* op) override {
    inside_.insert(op->name);
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::For* op) override {
    inside_.insert(op->name);
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::IfThenElse* op) override {
    const size_t outer = guards_.size();
    split_conjunction(ir::substitute(lets_, ir::substitute_in_all_lets(op->condition)), guards_);
    op->then_case.accept(this);
    guards_.resize(outer);
    if (op->else_case.defined()) op->else_case.accept(this);
  }
  void visit(const ir::Store* op) override {
    if (op->name != buffer_) return;
    if (!seen_) {
      common_ = guards_;
      seen_ = true;
      return;
    }
    std::erase_if(common_, [&](const Expr& guard) {
      return std::none_of(guards_.begin(), guards_.end(),
                          [&](const Expr& other) { return ir::equal(guard, other); });
    });
  }

  std::string buffer_;
  std::map<std::string, Expr> lets_;
  std::set<std::string> inside_;  // loops and allocations of the body
  std::vector<Expr> guards_, common_;
  bool seen_ = false;
};

}  // namespace

ir::Stmt SkipBlocks::visit(const ir::For* op) {
  for (const BlockLoopName& loop : loops_) {
    if (op->name != loop.loop) continue;
    GuardsOfStores guards(loop.result);
    op->body.accept(&guards);
    Expr all;
    for (const Expr& guard : guards.common_guards()) {
      all = all.defined() ? all && guard : guard;
    }
    if (!all.defined()) {
      if (!loop.required) return op;
      throw std::logic_error(
          fmt::format("no condition guards the stores to {} in loop {}", loop.result, loop.loop));
    }
    return ir::For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy,
                         op->device_api, ir::IfThenElse::make(all, op->body));
  }
  return ir::IRMutator::visit(op);
}

}  // namespace fovea
