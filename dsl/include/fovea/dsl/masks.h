// masks.h: masks as values. A mask maps a position to "this key is visible"; each one here is
// ordinary DSL code. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_MASKS_H
#define FOVEA_DSL_MASKS_H

#include <fovea/dsl/position.h>

#include <functional>
#include <type_traits>
#include <utility>

namespace fovea {

// Any callable Position -> Expr of type Bool is a mask; a & b, a | b and !a compose them.
class Mask {
 public:
  template <typename F,
            typename = std::enable_if_t<std::is_invocable_r_v<Expr, F, const Position&>>>
  Mask(F visible) : visible_(std::move(visible)) {}  // NOLINT(google-explicit-constructor)

  Expr operator()(const Position& p) const { return visible_(p); }

 private:
  std::function<Expr(const Position&)> visible_;
};

Mask operator&(Mask a, Mask b);
Mask operator|(Mask a, Mask b);
Mask operator!(Mask a);

// Numbers may be constants or scalars of the variant.
namespace masks {

Mask full();                   // every key
Mask causal();                 // k <= q
Mask last_tokens(Expr count);  // the last `count` keys up to and including the query's own position
Mask window(
    Expr left,
    Expr right);  // q - left <= k <= q + right, both inclusive (FlashAttention's convention)
Mask first_tokens(Expr count);  // keys 0 … count-1: global tokens, a prefix
Mask chunked(Expr length);      // keys of the query's own chunk of `length` positions (Llama-4)

}  // namespace masks
}  // namespace fovea

#endif
