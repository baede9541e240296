// alibi_causal.cpp: linear distance penalties (ALiBi).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(alibi_causal, v) {
  auto slope = v.table<float>("slope", {axis::head});
  slope.describe("penalty per token of distance").example(example::alibi_slope());
  v.summary("causal with a penalty of slope[head] per token of distance: ALiBi");
  v.source("Press et al. 2022, Train Short, Test Long, arXiv:2108.12409, section 3");
  v.family("position");
  v.note(
      "slopes are the caller's: alibi_slopes and alibi_slopes_geometric give the two published "
      "series");
  v.note(
      "the bias is 0 on the diagonal; forms that add slope * k have the same weights and another "
      "LSE");
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
}
