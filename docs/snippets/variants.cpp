// variants.cpp: the declarations that docs/add-a-variant.md shows.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(softcapped_window, v) {
  auto cap = v.scalar<float>("softcap").positive();
  auto window = v.scalar<int>("window").at_least(1);
  v.summary("capped scores, each token sees the last `window` tokens");
  v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
  v.keep([=](Position p) { return p.k <= p.q && p.q - p.k < window; });
}

FOVEA_VARIANT(alibi, v) {
  auto slope = v.table<float>("slope", {axis::head});
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
  v.returns(lse);
}

FOVEA_VARIANT(prefix_or_window, v) {
  auto prefix = v.scalar<int>("prefix").at_least(0);
  v.keep(masks::causal() & (masks::first_tokens(prefix) | masks::last_tokens(256)));
}

FOVEA_VARIANT(same_document, v) {
  auto document = v.table<int>("document", {axis::batch, axis::key});
  v.keep([=](Position p) { return document(p.batch, p.q) == document(p.batch, p.k); });
}
