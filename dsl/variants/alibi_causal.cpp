// alibi_causal.cpp: linear distance penalties (ALiBi).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// score - slope[head] * (q - k). Press et al. 2022, "Train Short, Test Long", section 3; slopes are
// the caller's.
FOVEA_VARIANT(alibi_causal, v) {
  auto slope = v.table<float>("slope", {axis::head});
  v.summary("causal with a penalty of slope[head] per token of distance: ALiBi");
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
}
