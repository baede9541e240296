// t5_encoder.cpp: T5, encoder.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(t5_encoder, v) {
  auto bias = v.table<float>("bias", {32, axis::head});
  bias.describe("(bucket, head): the model's relative_attention_bias")
      .example(example::scattered(-4, 4));
  auto length = v.table<int>("length", {axis::batch});
  length.describe("valid tokens of each sequence").example(example::length());
  v.summary("T5 encoder: bias per bucket of distance, padding");
  v.source("Raffel et al. 2020, T5, arXiv:1910.10683");
  v.family("model");
  v.note("T5 does not scale its scores: call.scale = 1");
  const T5Buckets bucket = {.bidirectional = true};
  v.score([=](Expr s, Position p) { return s + bias(bucket(p.k - p.q), p.head); });
  v.keep(masks::padding([=](const Position& p) { return length(p.batch); }));
  v.returns(lse);
}
