// sink_causal.cpp: an attention sink as an extra logit.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(sink_causal, v) {
  auto sink = v.table<float>("sink", {axis::head});
  sink.describe("logit of a key without a value, not scaled; -infinity is none")
      .example(example::scattered(-2, 2));
  v.summary("causal with a learned sink logit per head in the softmax: GPT-OSS, global layers");
  v.source("OpenAI 2025, gpt-oss model card, arXiv:2508.10925; Xiao et al. 2023, arXiv:2309.17453");
  v.family("sink");
  v.note("the LSE counts the sink");
  v.normalize(softmax().sink(sink));
  v.keep(masks::causal());
  v.returns(lse);
}
