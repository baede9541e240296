// dropout_causal.cpp: dropout of attention weights.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(dropout_causal, v) {
  auto rate = v.scalar<float>("rate").between(0, 1);
  auto seed = v.scalar<int>("seed");
  rate.describe("share of the weights that is dropped").example(0.1f);
  seed.describe("another one for each layer and step").example(1234);
  v.summary("causal with dropout of the normalised weights, drawn from a seed");
  v.source("Vaswani et al. 2017, arXiv:1706.03762, section 5.4; Srivastava et al. 2014");
  v.family("normaliser");
  v.note(
      "drawn by a hash of (seed, batch, head, q, k), so tiling and threads do not matter; it is "
      "not "
      "Philox and repeats no other library's masks");
  v.note("the LSE is that of all keys");
  v.weight_factor(
      [=](Position p) { return select(uniform(seed, p) < rate, 0.0f, 1.0f / (1.0f - rate)); });
  v.keep(masks::causal());
  v.returns(lse);
}
