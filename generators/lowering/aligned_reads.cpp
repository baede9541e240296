// aligned_reads.cpp: dense vectors of 16 bytes, and whether they are aligned.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/aligned_reads.h"

#include <fovea/registry.h>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

constexpr int read_bits = 8 * FOVEA_WIDE_READ;

// The first of neighbouring numbers, in 64 bits; undefined if they are none.
Expr first_of(const Expr& index) {
  const auto wide = [](const Expr& e) { return Halide::cast<int64_t>(e); };
  if (const auto* ramp = index.as<ir::Ramp>())
    return ir::is_const_one(ramp->stride) ? wide(ramp->base) : Expr();
  if (const auto* cast = index.as<ir::Cast>()) return first_of(cast->value);
  const auto* sum = index.as<ir::Add>();
  if (!sum) return Expr();
  for (const auto& [vector, same] : {std::pair(sum->a, sum->b), std::pair(sum->b, sum->a)}) {
    const auto* broadcast = same.as<ir::Broadcast>();
    if (!broadcast) continue;
    const Expr first = first_of(vector);
    return first.defined() ? first + wide(broadcast->value) : Expr();
  }
  return Expr();
}

// What is added to an index: rows begin where they should, but a transform may read features that
// lie a number of them further on.
int64_t constant_part(const Expr& e) {
  if (const auto number = ir::as_const_int(e)) return *number;
  if (const auto* cast = e.as<ir::Cast>()) return constant_part(cast->value);
  if (const auto* sum = e.as<ir::Add>()) return constant_part(sum->a) + constant_part(sum->b);
  if (const auto* rest = e.as<ir::Sub>()) return constant_part(rest->a) - constant_part(rest->b);
  if (const auto* product = e.as<ir::Mul>())
    return constant_part(product->a) * constant_part(product->b);
  return 0;
}

}  // namespace

bool AlignedReads::is_condition_(const Expr& e) const {
  if (const auto* name = e.as<ir::Variable>()) return names_.count(name->name) > 0;
  const auto* differs = e.as<ir::NE>();
  if (!differs || !ir::is_const_zero(differs->b)) return false;
  const auto* scalar = differs->a.as<ir::Variable>();
  return scalar && scalar->name == condition_;
}

ir::Stmt AlignedReads::visit(const ir::LetStmt* op) {
  if (is_condition_(op->value)) names_.insert(op->name);
  return ir::IRMutator::visit(op);
}

ir::Stmt AlignedReads::visit(const ir::IfThenElse* op) {
  if (!is_condition_(op->condition)) return ir::IRMutator::visit(op);
  is_aligned_ = true;
  const ir::Stmt then_case = mutate(op->then_case);
  is_aligned_ = false;
  return ir::IfThenElse::make(op->condition, then_case, mutate(op->else_case));
}

Expr AlignedReads::visit(const ir::Load* op) {
  const int lanes = op->type.lanes();
  if (buffers_.count(op->name) == 0 || op->type.bits() * lanes != read_bits)
    return ir::IRMutator::visit(op);
  const Expr first = first_of(op->index);
  if (!first.defined()) return ir::IRMutator::visit(op);
  const bool is_aligned = is_aligned_ && constant_part(first) % lanes == 0;
  const auto read = [&](const Halide::Type& type, const Expr& from) {
    const int count = type.lanes();
    return ir::Load::make(type, op->name, ir::Ramp::make(from, ir::make_one(from.type()), count),
                          op->image, op->param, ir::const_true(count),
                          is_aligned ? ir::ModulusRemainder(count, 0) : ir::ModulusRemainder());
  };
  if (!is_aligned || !as_words_ || op->type.bits() == 32) return read(op->type, first);
  const int of_word = 32 / op->type.bits();
  return ir::Reinterpret::make(op->type, read(Halide::UInt(32, lanes / of_word), first / of_word));
}

}  // namespace fovea
