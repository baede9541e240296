// lane_broadcasts.cpp: finds the broadcasts, loads vectors, takes lanes.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/lane_broadcasts.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "generators/lowering/plain_index.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using ir::Stmt;

constexpr int lanes = 4;

// Broadcast scalars of one loop body that are read whenever the body runs.
class FindBroadcasts : public ir::IRVisitor {
 public:
  std::vector<const ir::Load*> scalars;
  std::map<std::string, Expr> bound;  // names inside the body
  std::set<std::string> stored;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::For* op) override { visit_conditional_(op->body); }
  void visit(const ir::IfThenElse* op) override {
    op->condition.accept(this);
    visit_conditional_(op->then_case);
    if (op->else_case.defined()) visit_conditional_(op->else_case);
  }
  void visit(const ir::Call* op) override {
    if (op->is_intrinsic(ir::Call::if_then_else)) {
      op->args[0].accept(this);
    } else {
      ir::IRVisitor::visit(op);
    }
  }
  void visit(const ir::LetStmt* op) override {
    bound[op->name] = op->value;
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::Let* op) override {
    bound[op->name] = op->value;
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::Store* op) override {
    stored.insert(op->name);
    ir::IRVisitor::visit(op);
  }
  void visit(const ir::Broadcast* op) override {
    const auto* load = op->value.as<ir::Load>();
    if (conditions_ == 0 && load && load->type == Halide::Float(32) &&
        ir::is_const_one(load->predicate)) {
      scalars.push_back(load);
    }
    ir::IRVisitor::visit(op);
  }
  // What is stored there is stored in the body.
  void visit_conditional_(const Stmt& statement) {
    ++conditions_;
    statement.accept(this);
    --conditions_;
  }
  int conditions_ = 0;
};

class FindLoads : public ir::IRVisitor {
 public:
  bool found = false;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Load*) override { found = true; }
};

bool reads_memory(const Expr& e) {
  FindLoads loads;
  e.accept(&loads);
  return loads.found;
}

class ReplaceScalars : public ir::IRMutator {
 public:
  std::map<const ir::Load*, Expr> replacements;

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Load* op) override {
    const auto lane = replacements.find(op);
    return lane != replacements.end() ? lane->second : ir::IRMutator::visit(op);
  }
};

// Scalars of one buffer whose indices differ by constants.
struct Family {
  const ir::Load* first;
  Expr index;                                          // of `first`, plain
  std::map<int64_t, std::vector<const ir::Load*>> at;  // offset -> loads
};

std::vector<Family> families_of(const FindBroadcasts& found) {
  std::vector<Family> families;
  for (const ir::Load* load : found.scalars) {
    if (found.stored.count(load->name) != 0) continue;
    const Expr index = plain_index(load->index, found.bound);
    if (reads_memory(index)) continue;
    bool member = false;
    for (Family& f : families) {
      if (f.first->name != load->name || f.index.type() != index.type()) continue;
      const Expr difference = ir::simplify(index - f.index);
      if (const auto offset = ir::as_const_int(difference)) {
        f.at[*offset].push_back(load);
        member = true;
        break;
      }
    }
    if (!member) families.push_back({load, index, {{0, {load}}}});
  }
  return families;
}

Stmt with_lanes(const Stmt& body) {
  FindBroadcasts found;
  body.accept(&found);
  ReplaceScalars replace;
  std::vector<std::pair<std::string, Expr>> vectors;
  for (const Family& f : families_of(found)) {
    for (auto run = f.at.begin(); run != f.at.end();) {
      auto end = run;
      int length = 0;
      while (length < lanes && end != f.at.end() && end->first == run->first + length)
        ++length, ++end;
      if (length == lanes) {
        const Expr base = f.index + ir::make_const(f.index.type(), run->first);
        const Expr index = ir::Ramp::make(base, ir::make_one(base.type()), lanes);
        const std::string name = ir::unique_name("neighbours");
        vectors.emplace_back(
            name, ir::Load::make(Halide::Float(32, lanes), f.first->name, index, f.first->image,
                                 f.first->param, ir::const_true(lanes), ir::ModulusRemainder()));
        const Expr vector = ir::Variable::make(Halide::Float(32, lanes), name);
        for (int lane = 0; run != end; ++run, ++lane) {
          for (const ir::Load* load : run->second)
            replace.replacements[load] = ir::Shuffle::make_extract_element(vector, lane);
        }
      }
      run = end;
    }
  }
  if (vectors.empty()) return body;
  // Their indices name nothing of the body.
  Stmt result = replace.mutate(body);
  for (auto let = vectors.rbegin(); let != vectors.rend(); ++let)
    result = ir::LetStmt::make(let->first, let->second, result);
  return result;
}

}  // namespace

Stmt LaneBroadcasts::visit(const ir::For* op) {
  return ir::For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy,
                       op->device_api, with_lanes(mutate(op->body)));
}

}  // namespace fovea
