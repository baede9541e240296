// masks.cpp: composition of masks, and the masks that have a name in the field.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/masks.h>

namespace fovea {

Mask operator&(Mask a, Mask b) {
  return Mask([a, b](const Position& p) { return a(p) && b(p); });
}
Mask operator|(Mask a, Mask b) {
  return Mask([a, b](const Position& p) { return a(p) || b(p); });
}
Mask operator!(Mask a) {
  return Mask([a](const Position& p) { return !a(p); });
}

namespace masks {

Mask full() {
  return Mask([](const Position&) { return Halide::Internal::const_true(); });
}
Mask causal() {
  return Mask([](const Position& p) { return p.k <= p.q; });
}
// Written as a comparison of k with an affine bound of q, the form from which key ranges are read
// off exactly.
Mask last_tokens(Expr count) {
  return Mask([count](const Position& p) { return p.k <= p.q && p.q - p.k < count; });
}
Mask window(Expr left, Expr right) {
  return Mask([left, right](const Position& p) { return p.q - p.k <= left && p.k - p.q <= right; });
}
Mask first_tokens(Expr count) {
  return Mask([count](const Position& p) { return p.k < count; });
}
Mask chunked(Expr length) {
  return Mask([length](const Position& p) { return p.q / length == p.k / length; });
}

}  // namespace masks
}  // namespace fovea
