// softcapped_window.cpp: Gemma-2 style.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Score: cap * tanh(score / cap), then the window (Gemma 2, Gemma Team 2024, section 2).
FOVEA_VARIANT(softcapped_window, v) {
  auto cap = v.scalar<float>("softcap").positive();
  auto window = v.scalar<int>("window").at_least(1);
  v.summary("Gemma-2 style: capped scores, each token sees the last `window` tokens");
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.keep([=](Position p) { return p.k <= p.q && p.q - p.k < window; });
}
