// gemma3_local.cpp: Gemma 3, local layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gemma3_local, v) {
  auto query_weight = v.table<float>("query_weight", {axis::feature});
  auto key_weight = v.table<float>("key_weight", {axis::feature});
  query_weight.describe("gain of each feature of the query, less 1")
      .example(example::scattered(-0.5, 0.5));
  key_weight.describe("gain of each feature of the key, less 1")
      .example(example::scattered(-0.5, 0.5));
  auto window = v.scalar<int>("window").at_least(1);
  window.describe("keys that a query sees, its own position counted").example(1024);
  v.summary("Gemma 3, local layers: normalised queries and keys, rotary positions, a window");
  v.source("Gemma Team 2025, Gemma 3, arXiv:2503.19786");
  v.family("model");
  v.note(
      "the window is 512 in the 1B model and 1024 in the others; five local layers to a global "
      "one");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  v.query([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, 1e-6f) * (1.0f + query_weight(d));
  });
  v.key([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, 1e-6f) * (1.0f + key_weight(d));
  });
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });
  v.keep(masks::last_tokens(window));
  v.returns(lse);
}
