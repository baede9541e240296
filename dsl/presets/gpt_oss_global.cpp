// gpt_oss_global.cpp: GPT-OSS, global layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gpt_oss_global, v) {
  auto sink = v.table<float>("sink", {axis::head});
  sink.describe("logit of a key without a value, not scaled").example(example::scattered(-2, 2));
  v.summary("GPT-OSS, global layers: sinks, YaRN positions, causal");
  v.source("OpenAI 2025, gpt-oss model card, arXiv:2508.10925");
  v.family("model");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) {
    return rope_yarn(s.d_qk, 150000,
                     {.factor = 32, .original_length = 4096, .round_bounds = false});
  });
  v.normalize(softmax().sink(sink));
  v.keep(masks::causal());
  v.returns(lse);
}
