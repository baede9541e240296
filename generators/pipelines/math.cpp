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
  // Minimax polynomial of degree 5 for 2^f on [-1/2, 1/2] among those that are 1 at 0, relative
  // error 9.4e-8. Exactly 1, because the state is multiplied by 2^0 in every block that brings no
  // new maximum, and because equal scores are to weigh exactly the same as their maximum.
  Expr p = 0.00132695714f;
  for (const float c : {0.00967129413f, 0.0555071086f, 0.240222469f, 0.693147004f, 1.0f})
    p = p * f + c;
  return p * Halide::reinterpret<float>((n + 127) << 23);
}

Expr tanh_rational(Expr x) {
  // Beyond this tanh is 1 in f32.
  constexpr float limit = 9.02f;
  x = Halide::strict_float(Halide::select(x > limit, limit, Halide::select(x < -limit, -limit, x)));
  // x P(x^2) / Q(x^2), fitted to the relative error by reweighted least squares: 2.1e-8 before
  // rounding.
  const Expr y = x * x;
  Expr p = 1.33190019e-8f, q = 7.76199158e-7f;
  for (const float c : {2.05834331e-5f, 3.49403196e-3f, 1.33797154e-1f, 1.0f}) p = p * y + c;
  for (const float c : {3.28308844e-4f, 2.58710627e-2f, 4.67130303e-1f, 1.0f}) q = q * y + c;
  return x * p / q;
}

}  // namespace fovea
