// t5_bias.cpp: relative positions in buckets (T5).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(t5_bias, v) {
  auto bias = v.table<float>("bias", {32, axis::head});
  bias.describe("(bucket, head): the model's relative_attention_bias")
      .example(example::scattered(-4, 4));
  v.summary("a learned bias per head and bucket of distance, in both directions: T5's encoder");
  v.source("Raffel et al. 2020, T5, arXiv:1910.10683, section 2.1");
  v.family("position");
  v.note("32 buckets up to distance 128; T5 does not scale its scores: call.scale = 1");
  const T5Buckets bucket = {.bidirectional = true};
  v.score([=](Expr s, Position p) { return s + bias(bucket(p.k - p.q), p.head); });
  v.returns(lse);
}
