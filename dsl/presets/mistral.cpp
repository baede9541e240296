// mistral.cpp: Mistral 7B.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(mistral, v) {
  auto window = v.scalar<int>("window").at_least(1);
  window.describe("keys that a query sees, its own position counted").example(4096);
  v.summary("Mistral 7B: the last 4096 tokens, grouped queries, rotary positions in halves");
  v.source("Jiang et al. 2023, Mistral 7B, arXiv:2310.06825");
  v.family("model");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });
  v.keep(masks::last_tokens(window));
  v.returns(lse);
}
