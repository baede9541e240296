// softcapped.cpp: capped scores.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(softcapped, v) {
  auto cap = v.scalar<float>("softcap").positive();
  cap.describe("bound that scores approach").example(50.0f);
  v.summary("causal with scores softly capped at `softcap`: Grok-1, global layers of Gemma 2");
  v.source("Gemma Team 2024, Gemma 2, arXiv:2408.00118, section 2");
  v.family("score");
  v.note("0 does not switch the cap off, as it does elsewhere: use causal");
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.keep(masks::causal());
  v.returns(lse);
}
