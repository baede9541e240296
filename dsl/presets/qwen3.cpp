// qwen3.cpp: Qwen 3.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(qwen3, v) {
  auto query_weight = v.table<float>("query_weight", {axis::feature});
  auto key_weight = v.table<float>("key_weight", {axis::feature});
  query_weight.describe("gain of each feature of the query").example(example::scattered(0.5, 1.5));
  key_weight.describe("gain of each feature of the key").example(example::scattered(0.5, 1.5));
  v.summary("Qwen 3: causal, normalised queries and keys, rotary positions in halves");
  v.source("Yang et al. 2025, Qwen3 Technical Report, arXiv:2505.09388");
  v.family("model");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  v.query([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, 1e-6f) * query_weight(d);
  });
  v.key([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, 1e-6f) * key_weight(d);
  });
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 1000000); });
  v.keep(masks::causal());
  v.returns(lse);
}
