// gemma2_global.cpp: Gemma 2, global layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gemma2_global, v) {
  auto cap = v.scalar<float>("softcap").positive();
  cap.describe("bound that scores approach").example(50.0f);
  v.summary("Gemma 2, global layers: rotary positions, capped scores, causal");
  v.source("Gemma Team 2024, Gemma 2, arXiv:2408.00118");
  v.family("model");
  v.note(
      "scale is 1/sqrt(256) in the 2B and 9B models and 1/sqrt(144) in 27B, whatever the head "
      "size");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.keep(masks::causal());
  v.returns(lse);
}
