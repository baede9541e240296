// bloom.cpp: BLOOM.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(bloom, v) {
  auto slope = v.table<float>("slope", {axis::head});
  slope.describe("penalty per token of distance").example(example::alibi_slope());
  v.summary("BLOOM: causal with ALiBi");
  v.source("BigScience 2022, BLOOM, arXiv:2211.05100");
  v.family("model");
  v.note("the released code adds slope * k, with the same weights and another LSE");
  v.score([=](Expr s, Position p) { return s - slope(p.head) * cast<float>(p.q - p.k); });
  v.keep(masks::causal());
  v.returns(lse);
}
