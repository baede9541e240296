// transpose_loads.h: a lowering pass that turns columns read element by element into rows read
// whole. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_TRANSPOSE_LOADS_H
#define FOVEA_GENERATORS_LOWERING_TRANSPOSE_LOADS_H

#include <Halide.h>

#include <set>
#include <string>

namespace fovea {

// Query rows are vector lanes, and lie far apart in memory: a vector of one feature of 16 rows is a
// gather. Where straight code has gathers of as many neighbouring features as the vector has lanes,
// this pass loads that many rows instead, which are the same elements, and transposes them in
// registers: four shuffles a vector of 16. Generated code for the equivalent interleaved store
// needs three times as many instructions. For Pipeline::add_custom_lowering_pass.
class TransposeLoads : public Halide::Internal::IRMutator {
 private:
  using Halide::Internal::IRMutator::visit;
  Halide::Internal::Stmt visit(const Halide::Internal::For* op) override;
  Halide::Internal::Stmt visit(const Halide::Internal::Allocate* op) override;

  std::set<std::string> allocated_;  // by this kernel: whole, so that any part can be read
};

}  // namespace fovea

#endif
