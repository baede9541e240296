// t5_causal.cpp: relative positions in buckets (T5, decoder).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(t5_causal, v) {
  auto bias = v.table<float>("bias", {32, axis::head});
  bias.describe("(bucket, head): the model's relative_attention_bias")
      .example(example::scattered(-4, 4));
  v.summary("causal with a learned bias per head and bucket of distance: T5's decoder");
  v.source("Raffel et al. 2020, T5, arXiv:1910.10683, section 2.1");
  v.family("position");
  v.note("32 buckets up to distance 128; T5 does not scale its scores: call.scale = 1");
  const T5Buckets bucket = {.bidirectional = false};
  v.score([=](Expr s, Position p) { return s + bias(bucket(p.k - p.q), p.head); });
  v.keep(masks::causal());
  v.returns(lse);
}
