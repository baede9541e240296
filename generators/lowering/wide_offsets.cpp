// wide_offsets.cpp: pairs of conversions, also where a variable stands between them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/wide_offsets.h"

#include <stdexcept>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

// The 64-bit number that `e` is the lower half of; undefined if it is none.
Expr narrowed_number(const Expr& e) {
  if (const auto* same = e.as<ir::Broadcast>()) {
    const Expr inner = narrowed_number(same->value);
    return inner.defined() ? ir::Broadcast::make(inner, same->lanes) : Expr();
  }
  if (const auto* call = e.as<ir::Call>(); call && call->name == narrowed_name)
    return call->args[0];
  const auto* cast = e.as<ir::Cast>();
  if (!cast || cast->type.element_of() != Halide::Int(32) ||
      cast->value.type().element_of() != Halide::Int(64)) {
    return Expr();
  }
  return cast->value;
}

// `e` in 64 bits, of a sum with what was narrowed in it; undefined if nothing was.
Expr widened(const Expr& e) {
  if (const Expr number = narrowed_number(e); number.defined()) return number;
  const auto* sum = e.as<ir::Add>();
  if (!sum) return Expr();
  Expr a = widened(sum->a), b = widened(sum->b);
  if (!a.defined() && !b.defined()) return Expr();
  const Halide::Type wide = Halide::Int(64).with_lanes(e.type().lanes());
  if (!a.defined()) a = ir::Cast::make(wide, sum->a);
  if (!b.defined()) b = ir::Cast::make(wide, sum->b);
  return ir::Add::make(a, b);
}

}  // namespace

Expr narrowed(const Expr& offset) {
  return ir::Call::make(Halide::Int(32), narrowed_name, {offset}, ir::Call::PureExtern);
}

Expr WideOffsets::visit(const ir::Cast* op) {
  const Expr value = mutate(op->value);
  if (op->type.element_of() == Halide::Int(64)) {
    if (const Expr wide = widened(value); wide.defined()) return wide;
  }
  return value.same_as(op->value) ? Expr(op) : ir::Cast::make(op->type, value);
}

// A sum that is widened as it is made.
Expr WideOffsets::visit(const ir::Call* op) {
  if (!op->is_intrinsic(ir::Call::widening_add) || op->type.element_of() != Halide::Int(64))
    return ir::IRMutator::visit(op);
  const Expr a = mutate(op->args[0]), b = mutate(op->args[1]);
  const Expr wide = widened(ir::Add::make(a, b));
  if (wide.defined()) return wide;
  return ir::Call::make(op->type, op->name, {a, b}, op->call_type);
}

// Each use says itself what was narrowed, so that a conversion around it sees it.
Expr WideOffsets::visit(const ir::Variable* op) {
  const auto found = narrowed_.find(op->name);
  return found == narrowed_.end() ? Expr(op) : found->second;
}

Expr WideOffsets::visit(const ir::Let* op) {
  const Expr value = mutate(op->value);
  if (!narrowed_number(value).defined()) return ir::Let::make(op->name, value, mutate(op->body));
  narrowed_[op->name] = value;
  const Expr body = mutate(op->body);
  narrowed_.erase(op->name);
  return body;
}

ir::Stmt WideOffsets::visit(const ir::LetStmt* op) {
  const Expr value = mutate(op->value);
  if (!narrowed_number(value).defined())
    return ir::LetStmt::make(op->name, value, mutate(op->body));
  narrowed_[op->name] = value;
  const ir::Stmt body = mutate(op->body);
  narrowed_.erase(op->name);
  return body;
}

}  // namespace fovea
