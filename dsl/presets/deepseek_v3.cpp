// deepseek_v3.cpp: DeepSeek-V2 and V3.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(deepseek_v3, v) {
  v.summary("DeepSeek-V3: causal, YaRN positions on the last 64 of 192 features, values of 128");
  v.source("DeepSeek-AI 2024, DeepSeek-V3, arXiv:2412.19437, section 2.1");
  v.family("model");
  v.note("YaRN's magnitude is in the scale: call.scale = (0.1 ln 40 + 1)^2 / sqrt(192)");
  v.note("absorbed form: see mla");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate_last(v, RopeLayout::Interleaved, [](const ExampleShape& s) {
    const int64_t dims = s.d_qk >= 128 ? 64 : std::max<int64_t>(2, s.d_qk / 4 * 2);
    return rope_yarn(dims, 10000, {.factor = 40, .attention_factor = 1});
  });
  v.keep(masks::causal());
  v.returns(lse);
}
