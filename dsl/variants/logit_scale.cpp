// logit_scale.cpp: cosine scores with a learned temperature.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(logit_scale, v) {
  auto scale_of = v.table<float>("logit_scale", {axis::head});
  scale_of.describe("what the cosine is multiplied by: exp of the model's logit_scale, at most 100")
      .example(example::scattered(5, 20));
  v.summary("cosine of query and key times a learned scale per head: Swin v2, scaled cosine");
  v.source("Liu et al. 2021, Swin Transformer V2, arXiv:2111.09883, section 3.2");
  v.family("score");
  v.note("cosines are not to be scaled again: call.scale = 1");
  v.query([](const Row& row, Expr d, const Position&) { return unit_length(row, d, 1e-12f); });
  v.key([](const Row& row, Expr d, const Position&) { return unit_length(row, d, 1e-12f); });
  v.score([=](Expr s, Position p) { return s * scale_of(p.head); });
  v.returns(lse);
}
