// llama4_local.cpp: Llama 4, local layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(llama4_local, v) {
  auto chunk = v.scalar<int>("chunk").at_least(1);
  chunk.describe("positions of a chunk").example(8192);
  v.summary("Llama 4, local layers: causal in chunks, rotary positions in pairs");
  v.source("Meta 2025, Llama 4");
  v.family("model");
  v.note("the global layers have no positions: causal, with a temperature on the query outside");
  v.note(
      "Scout also divides turned queries and keys by their root mean square: one more transform");
  rotate(v, RopeLayout::Interleaved,
         [](const ExampleShape& s) { return rope_plain(s.d_qk, 500000); });

  v.keep(masks::chunked(chunk) & masks::causal());
  v.returns(lse);
}
