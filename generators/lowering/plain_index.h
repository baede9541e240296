// plain_index.h: expressions of lowered code in a form that can be compared.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_PLAIN_INDEX_H
#define FOVEA_GENERATORS_LOWERING_PLAIN_INDEX_H

#include <Halide.h>

#include <map>
#include <string>

namespace fovea {

// An index with names replaced by what `bound` says they stand for, sums taken apart where they
// were widened (a 32-bit sum does not overflow), intrinsics spelled out; simplified.
Halide::Expr plain_index(const Halide::Expr& index,
                         const std::map<std::string, Halide::Expr>& bound);

// Lane 0 of a vector of indices; of a scalar the scalar.
Halide::Expr first_lane(const Halide::Expr& index);

}  // namespace fovea

#endif
