// choose_body.h: one function that runs one of two lowered bodies.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_LOWERING_CHOOSE_BODY_H
#define FOVEA_GENERATORS_LOWERING_CHOOSE_BODY_H

#include <Halide.h>

#include <string>

namespace fovea {

// The extent of a dimension of a buffer argument, known before any body runs.
Halide::Expr argument_extent(const std::string& buffer, int dimension);

// `other` takes the same arguments as `usual`; where Halide has given one of them another name, it
// is renamed. Body of the result: if (condition) other else usual.
Halide::Internal::LoweredFunc choose_body(const Halide::Internal::LoweredFunc& usual,
                                          const Halide::Expr& condition,
                                          const Halide::Internal::LoweredFunc& other);

}  // namespace fovea

#endif
