// gemma3_global.cpp: Gemma 3, global layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gemma3_global, v) {
  auto query_weight = v.table<float>("query_weight", {axis::feature});
  auto key_weight = v.table<float>("key_weight", {axis::feature});
  query_weight.describe("gain of each feature of the query, less 1")
      .example(example::scattered(-0.5, 0.5));
  key_weight.describe("gain of each feature of the key, less 1")
      .example(example::scattered(-0.5, 0.5));
  v.summary("Gemma 3, global layers: normalised queries and keys, rotary positions, causal");
  v.source("Gemma Team 2025, Gemma 3, arXiv:2503.19786");
  v.family("model");
  v.note("base 1000000, positions divided by 8 in the models with a context of 128K");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  v.query([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, 1e-6f) * (1.0f + query_weight(d));
  });
  v.key([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, 1e-6f) * (1.0f + key_weight(d));
  });
  rotate(v, RopeLayout::Half,
         [](const ExampleShape& s) { return rope_linear(s.d_qk, 1000000, 8); });
  v.keep(masks::causal());
  v.returns(lse);
}
