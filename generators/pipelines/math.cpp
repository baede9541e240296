// math.cpp: elementary functions as short Halide expressions.
// SPDX-License-Identifier: Apache-2.0
#include "generators/pipelines/math.h"

namespace fovea {

using Halide::Expr;

Expr exp2_nonpositive(Expr x) {
  // Below -127 the exponent field would wrap; at -127 it is zero, which makes the result exactly 0.
  // Strict, and a select instead of max: with fast-math flags a NaN would otherwise come out as 0.
  x = Halide::strict_float(Halide::select(x < -127.0f, -127.0f, x));
  // Nearest integer by truncation, which x <= 0 allows: Halide's round() becomes two half-width
  // instructions and three shuffles on AVX-512.
  const Expr n = Halide::cast<int>(x - 0.5f);
  const Expr f = x - Halide::cast<float>(n);
  // Minimax polynomial of degree 5 for 2^f on [-1/2, 1/2], relative error 2e-7.
  Expr p = 0.00132764719f;
  for (const float c : {0.00967554133f, 0.0555071327f, 0.240221197f, 0.693146967f, 1.00000007f})
    p = p * f + c;
  return p * Halide::reinterpret<float>((n + 127) << 23);
}

}  // namespace fovea
