// t5_decoder.cpp: T5, decoder.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(t5_decoder, v) {
  auto bias = v.table<float>("bias", {32, axis::head});
  bias.describe("(bucket, head): the model's relative_attention_bias")
      .example(example::scattered(-4, 4));
  v.summary("T5 decoder: causal, bias per bucket of distance");
  v.source("Raffel et al. 2020, T5, arXiv:1910.10683");
  v.family("model");
  v.note("T5 does not scale its scores: call.scale = 1");
  const T5Buckets bucket = {.bidirectional = false};
  v.score([=](Expr s, Position p) { return s + bias(bucket(p.k - p.q), p.head); });
  v.keep(masks::causal());
  v.returns(lse);
}
