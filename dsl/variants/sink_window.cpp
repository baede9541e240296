// sink_window.cpp: an attention sink as an extra logit, with a window.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(sink_window, v) {
  auto window = v.scalar<int>("window").at_least(1);
  auto sink = v.table<float>("sink", {axis::head});
  window.describe("keys that a query sees, its own position counted").example(128);
  sink.describe("logit of a key without a value, not scaled; -infinity is none")
      .example(example::scattered(-2, 2));
  v.summary("the last `window` tokens, with a learned sink logit per head: GPT-OSS, local layers");
  v.source("OpenAI 2025, gpt-oss model card, arXiv:2508.10925; Xiao et al. 2023, arXiv:2309.17453");
  v.family("sink");
  v.note("the LSE counts the sink");
  v.normalize(softmax().sink(sink));
  v.keep(masks::last_tokens(window));
  v.returns(lse);
}
