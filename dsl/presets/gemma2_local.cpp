// gemma2_local.cpp: Gemma 2, local layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gemma2_local, v) {
  auto cap = v.scalar<float>("softcap").positive();
  cap.describe("bound that scores approach").example(50.0f);
  auto window = v.scalar<int>("window").at_least(1);
  window.describe("keys that a query sees, its own position counted").example(4096);
  v.summary("Gemma 2, local layers: rotary positions, capped scores, the last 4096 tokens");
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
  v.keep(masks::last_tokens(window));
  v.returns(lse);
}
