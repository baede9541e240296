// softcapped_window.cpp: Gemma-2 style.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Score: cap * tanh(score / cap), then the window.
FOVEA_VARIANT(softcapped_window, v) {
  auto cap = v.scalar<float>("softcap").positive();
  auto window = v.scalar<int>("window").at_least(1);
  cap.describe("bound that scores approach").example(50.0f);
  window.describe("keys that a query sees, its own position counted").example(1024);
  v.summary("Gemma-2 style: capped scores, each token sees the last `window` tokens");
  v.source("Gemma Team 2024, Gemma 2, arXiv:2408.00118, section 2");
  v.family("score");
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.keep([=](Position p) { return p.k <= p.q && p.q - p.k < window; });
}
