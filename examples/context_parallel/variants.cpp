// A variant of one's own between those of the catalogue: ALiBi that returns what a merge needs.
//
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Looks at q - k only, as everything has to that is computed shard by shard.
FOVEA_VARIANT(alibi, v) {
  auto slope = v.table<float>("slope", {axis::head});
  v.summary("causal, with a penalty per token of distance, and its LSE");
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
  v.returns(lse);
}
