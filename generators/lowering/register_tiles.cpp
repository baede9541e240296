// register_tiles.cpp: allocations in registers get a type that no other allocation has.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/register_tiles.h"

namespace fovea {

namespace ir = Halide::Internal;

ir::Stmt SeparateRegisterTiles::visit(const ir::Allocate* op) {
  const int elements = ir::Allocate::constant_allocation_size(op->extents, op->name);
  const int bytes = elements * op->type.bytes();
  // Only the size counts: loads and stores bring their own types.
  const Halide::Type own = Halide::Float(64);
  if (op->memory_type != Halide::MemoryType::Register || bytes % own.bytes() != 0 || bytes == 0)
    return ir::IRMutator::visit(op);
  return ir::Allocate::make(op->name, own, op->memory_type, {bytes / own.bytes()}, op->condition,
                            mutate(op->body));
}

}  // namespace fovea
