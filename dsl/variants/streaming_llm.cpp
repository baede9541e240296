// streaming_llm.cpp: attention sinks as tokens: the first ones and a window.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(streaming_llm, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto first = v.scalar<int>("first").at_least(0);
  window.describe("keys that a query sees, its own position counted").example(1020);
  first.describe("keys at the beginning that every query sees").example(4);
  v.summary("the first tokens as sinks, and a window: StreamingLLM");
  v.source(
      "Xiao et al. 2023, Efficient Streaming Language Models with Attention Sinks, "
      "arXiv:2309.17453");
  v.family("sink");
  v.note(
      "the published method turns keys by their place in the cache, not in the text; do that "
      "before the call");
  v.keep(masks::causal() & (masks::last_tokens(window) | masks::first_tokens(first)));
  v.returns(lse);
}
