// fence_barriers.cpp: the mask of memory that a barrier orders.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/fence_barriers.h"

#include <stdexcept>

namespace fovea {

namespace ir = Halide::Internal;

Halide::Expr FenceBarriers::visit(const ir::Call* op) {
  if (!op->is_intrinsic(ir::Call::gpu_thread_barrier)) return ir::IRMutator::visit(op);
  const auto mask = op->args.size() == 1 ? ir::as_const_int(op->args[0]) : std::nullopt;
  if (!mask) throw std::logic_error("a barrier's memory is no constant");
  return ir::Call::make(op->type, ir::Call::gpu_thread_barrier,
                        {ir::IntImm::make(op->args[0].type(), *mask | ir::CodeGen_GPU_Dev::Shared)},
                        op->call_type);
}

}  // namespace fovea
