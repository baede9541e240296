// key_range.cpp: ranges of a condition by its structure; its parts are solved by Halide.
// SPDX-License-Identifier: Apache-2.0
#include "generators/analysis/key_range.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using Halide::max;
using Halide::min;

// A condition that says nothing of the key holds for all of them or for none.
KeyRange all_if(const Expr& holds, const KeyRange& block) {
  if (ir::is_const_one(holds)) return block;
  return {Halide::select(holds, block.first, block.last + 1), block.last};
}

KeyRange clipped(const ir::Interval& i, const KeyRange& block) {
  return {i.has_lower_bound() ? max(i.min, block.first) : block.first,
          i.has_upper_bound() ? min(i.max, block.last) : block.last};
}

KeyRange common(const KeyRange& a, const KeyRange& b) {
  return {max(a.first, b.first), min(a.last, b.last)};
}

KeyRange around(const KeyRange& a, const KeyRange& b) {
  const Expr no_a = a.last < a.first, no_b = b.last < b.first;
  return {Halide::select(no_a, b.first, no_b, a.first, min(a.first, b.first)),
          Halide::select(no_a, b.last, no_b, a.last, max(a.last, b.last))};
}

KeyRange longer(const KeyRange& a, const KeyRange& b) {
  const Expr take_a = a.last - a.first >= b.last - b.first;
  return {Halide::select(take_a, a.first, b.first), Halide::select(take_a, a.last, b.last)};
}

// The negation, pushed inwards: what is solved are comparisons.
Expr negation(const Expr& e) {
  if (const auto* both = e.as<ir::And>()) return !both->a || !both->b;
  if (const auto* either = e.as<ir::Or>()) return !either->a && !either->b;
  if (const auto* not_e = e.as<ir::Not>()) return not_e->a;
  if (const auto* choice = e.as<ir::Select>())
    return Halide::select(choice->condition, !choice->true_value, !choice->false_value);
  return ir::simplify(!e);
}

KeyRange range_of(const Expr& e, const KeyRange& block, bool outer) {
  if (!ir::expr_uses_var(e, "k")) return all_if(e, block);
  if (const auto* not_e = e.as<ir::Not>()) {
    const Expr inside = negation(not_e->a);
    if (!inside.as<ir::Not>()) return range_of(inside, block, outer);
  }
  // Halide's solver is wrong about some of these.
  if (const auto* choice = e.as<ir::Select>()) {
    return range_of(
        (choice->condition && choice->true_value) || (!choice->condition && choice->false_value),
        block, outer);
  }
  if (const auto* both = e.as<ir::And>())
    return common(range_of(both->a, block, outer), range_of(both->b, block, outer));
  if (const auto* either = e.as<ir::Or>()) {
    const KeyRange a = range_of(either->a, block, outer), b = range_of(either->b, block, outer);
    return outer ? around(a, b) : longer(a, b);
  }
  const ir::Interval solved =
      outer ? ir::solve_for_outer_interval(e, "k") : ir::solve_for_inner_interval(e, "k");
  if (solved.is_empty()) return {block.last + 1, block.last};
  return clipped(solved, block);
}

// Every disjunction names the range of each of its sides several times over: of those that search
// lists, nothing would be left to compile in reasonable time.
bool has_few_disjunctions(const Expr& condition) {
  constexpr int most = 4;
  struct Count : ir::IRVisitor {
    using ir::IRVisitor::visit;
    void visit(const ir::Or* op) override {
      ++disjunctions;
      ir::IRVisitor::visit(op);
    }
    void visit(const ir::And* op) override {
      ++conjunctions;
      ir::IRVisitor::visit(op);
    }
    int disjunctions = 0, conjunctions = 0;
  } count;
  condition.accept(&count);
  // Either may be negated.
  return count.disjunctions <= most && count.disjunctions + count.conjunctions <= 4 * most;
}

KeyRange simplified(const KeyRange& r) { return {ir::simplify(r.first), ir::simplify(r.last)}; }

}  // namespace

Expr KeyRange::condition() const {
  const Expr k = ir::Variable::make(Halide::Int(32), "k");
  return first <= k && k <= last;
}

KeyRange outer_key_range(const Expr& condition, const KeyRange& block) {
  return has_few_disjunctions(condition) ? simplified(range_of(condition, block, true)) : block;
}

KeyRange inner_key_range(const Expr& condition, const KeyRange& block) {
  if (!has_few_disjunctions(condition)) return simplified({block.last + 1, block.last});
  return simplified(range_of(condition, block, false));
}

}  // namespace fovea
