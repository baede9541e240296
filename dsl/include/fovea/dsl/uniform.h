// uniform.h: random numbers that depend on the position only.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_UNIFORM_H
#define FOVEA_DSL_UNIFORM_H

#include <fovea/dsl/position.h>

#include <cstdint>

namespace fovea {

// A number in [0, 1), a multiple of 2^-24, of (seed, batch, head, q, k): Float(32). It is a hash,
// so every tiling, pass and target draws the same one, and a training step can be repeated from its
// seed. The hash is not Philox: masks of other libraries are not reproduced.
Expr uniform(Expr seed, const Position& p);

// The same in plain C++, for applications that need the numbers.
float uniform(int32_t seed, int32_t batch, int32_t head, int32_t q, int32_t k);

}  // namespace fovea

#endif
