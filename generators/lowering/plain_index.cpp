// plain_index.cpp: substitution, and widening of the parts of a sum.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/plain_index.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

class PlainIndex : public ir::IRMutator {
 public:
  explicit PlainIndex(const std::map<std::string, Expr>& bound) : bound_(bound) {}

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::Variable* op) override {
    const auto value = bound_.find(op->name);
    return value == bound_.end() ? Expr(op) : mutate(value->second);
  }
  Expr visit(const ir::Call* op) override {
    const Expr lowered = ir::lower_intrinsics(op);
    return lowered.same_as(op) ? ir::IRMutator::visit(op) : mutate(lowered);
  }
  Expr visit(const ir::Cast* op) override {
    const Expr value = mutate(op->value);
    const auto widened = [&](const Expr& e) {
      return mutate(ir::Cast::make(op->type.with_lanes(e.type().lanes()), e));
    };
    if (op->type.is_int() && value.type().is_int() && op->type.bits() > value.type().bits()) {
      if (const auto* sum = value.as<ir::Add>()) return widened(sum->a) + widened(sum->b);
      if (const auto* sum = value.as<ir::Sub>()) return widened(sum->a) - widened(sum->b);
      if (const auto* same = value.as<ir::Broadcast>())
        return ir::Broadcast::make(widened(same->value), same->lanes);
    }
    return ir::Cast::make(op->type, value);
  }

  const std::map<std::string, Expr>& bound_;
};

}  // namespace

Expr plain_index(const Expr& index, const std::map<std::string, Expr>& bound) {
  return ir::simplify(PlainIndex(bound).mutate(index));
}

Expr first_lane(const Expr& e) {
  if (e.type().is_scalar()) return e;
  if (const auto* ramp = e.as<ir::Ramp>()) return first_lane(ramp->base);
  if (const auto* same = e.as<ir::Broadcast>()) return first_lane(same->value);
  if (const auto* sum = e.as<ir::Add>()) return first_lane(sum->a) + first_lane(sum->b);
  if (const auto* cast = e.as<ir::Cast>())
    return ir::Cast::make(cast->type.element_of(), first_lane(cast->value));
  return ir::Shuffle::make_extract_element(e, 0);
}

}  // namespace fovea
