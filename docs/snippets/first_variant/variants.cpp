// variants.cpp: a variant of one's own.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
using namespace fovea;

FOVEA_VARIANT(fading_memory, v) {
  v.summary("the last `window` tokens, fading with their distance, and the first `anchors`");
  auto window = v.scalar<int>("window").at_least(1).describe("tokens seen").example(64);
  auto anchors = v.scalar<int>("anchors").at_least(0).describe("always seen").example(4);
  auto fade = v.table<float>("fade", {axis::head}).describe("how fast a head forgets");
  fade.example([](const ExampleShape&, const std::vector<int64_t>& at) {
    return 0.5 / static_cast<double>(1 + at[0]);
  });
  v.score([=](Expr s, Position p) {
    return s - fade(p.head) * log(1.0f + cast<float>(max(p.q - p.k, 0)));
  });
  v.keep(masks::causal() & (masks::last_tokens(window) | masks::first_tokens(anchors)));
  v.returns(lse);
}
