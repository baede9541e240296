// math.h: elementary functions as short Halide expressions, for use inside softmax loops.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PIPELINES_MATH_H
#define FOVEA_GENERATORS_PIPELINES_MATH_H

#include <Halide.h>

namespace fovea {

// 2^x for x <= 0, Float(32). Exactly 1 at 0, exactly 0 below -126.5, 2 ulp elsewhere; NaN stays
// NaN.
Halide::Expr exp2_nonpositive(Halide::Expr x);

// tanh(x), Float(32), 3 ulp; NaN stays NaN. Halide's own calls the C library once per lane.
Halide::Expr tanh_rational(Halide::Expr x);

inline constexpr float log2_e = 1.44269504088896340736f;
inline constexpr float ln_2 = 0.69314718055994530942f;

}  // namespace fovea

#endif
