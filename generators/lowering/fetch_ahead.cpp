// fetch_ahead.cpp: finds the loads, one of each line, makes the calls.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/fetch_ahead.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "generators/lowering/plain_index.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using ir::Stmt;

// Takes the wishes out of an expression.
class TakeWishes : public ir::IRMutator {
 public:
  std::vector<Expr> wishes;

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Call* op) override {
    if (op->name != fetch_ahead_name) return ir::IRMutator::visit(op);
    wishes.push_back(op->args[1]);
    return mutate(op->args[0]);
  }
};

class FindLoads : public ir::IRVisitor {
 public:
  explicit FindLoads(const std::set<std::string>& inputs) : inputs_(inputs) {}
  std::vector<const ir::Load*> loads;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Load* op) override {
    if (inputs_.count(op->name)) loads.push_back(op);
    ir::IRVisitor::visit(op);
  }
  const std::set<std::string>& inputs_;
};

// Names that stand for something read from the inputs, written out.
class WriteOutLoads : public ir::IRMutator {
 public:
  WriteOutLoads(const std::set<std::string>& inputs, const std::map<std::string, Expr>& bound)
      : inputs_(inputs), bound_(bound) {}

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Variable* op) override {
    const auto name = bound_.find(op->name);
    if (name == bound_.end()) return op;
    const Expr value = mutate(name->second);
    FindLoads find(inputs_);
    value.accept(&find);
    return find.loads.empty() ? Expr(op) : value;
  }

  const std::set<std::string>& inputs_;
  const std::map<std::string, Expr>& bound_;
};

class HasWish : public ir::IRVisitor {
 public:
  bool found = false;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Call* op) override {
    found = found || op->name == fetch_ahead_name;
    ir::IRVisitor::visit(op);
  }
};

Stmt prefetch(const ir::Load* load, const Expr& index) {
  const Expr offset = Halide::cast<int64_t>(index) * load->type.bytes();
  const Expr base =
      ir::Reinterpret::make(Halide::Int(64), ir::Variable::make(Halide::Handle(), load->name));
  const Expr address = ir::Reinterpret::make(Halide::Handle(), base + offset);
  // To read, into the second-level cache, data. Halide's runtime declares the function.
  const Expr read = 0, second_level = 2, data = 1;
  return ir::Evaluate::make(ir::Call::make(Halide::Int(32), "llvm.prefetch.p0",
                                           {address, read, second_level, data}, ir::Call::Extern));
}

}  // namespace

Expr fetch_ahead(const Expr& value, const Expr& later) {
  return ir::Call::make(value.type(), fetch_ahead_name, {value, later}, ir::Call::PureExtern);
}

Stmt FetchAhead::visit(const ir::For* op) {
  std::vector<std::pair<std::string, Expr>> outside;
  std::swap(outside, asked_);
  Stmt loop = ir::IRMutator::visit(op);
  std::swap(outside, asked_);
  return loop;
}

Stmt FetchAhead::visit(const ir::LetStmt* op) {
  bound_[op->name] = op->value;
  return ir::IRMutator::visit(op);
}

Stmt FetchAhead::visit(const ir::Store* op) {
  HasWish has_wish;
  op->accept(&has_wish);
  if (!has_wish.found) return op;
  // Wishes leave the statement, and what its names stand for goes with them.
  TakeWishes take;
  const Expr value = take.mutate(ir::substitute_in_all_lets(op->value));
  Stmt all;
  for (const Expr& wish : take.wishes) {
    const Expr written_out = WriteOutLoads(inputs_, bound_).mutate(wish);
    FindLoads find(inputs_);
    written_out.accept(&find);
    for (const ir::Load* load : find.loads) {
      const Expr index = ir::simplify(first_lane(load->index));
      const Expr element = plain_index(index, bound_);
      const int elements = line_bytes / load->type.bytes();
      const auto in_one_line = [&](const std::pair<std::string, Expr>& other) {
        if (other.first != load->name) return false;
        const auto distance = ir::as_const_int(ir::simplify(element - other.second));
        return distance && std::abs(*distance) < elements;
      };
      if (std::any_of(asked_.begin(), asked_.end(), in_one_line)) continue;
      asked_.emplace_back(load->name, element);
      const Stmt one = prefetch(load, index);
      all = all.defined() ? ir::Block::make(all, one) : one;
    }
  }
  const Stmt store =
      ir::Store::make(op->name, value, op->index, op->param, op->predicate, op->alignment);
  return all.defined() ? ir::Block::make(all, store) : store;
}

}  // namespace fovea
