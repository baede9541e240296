// mla.cpp: multi-head latent attention (DeepSeek).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(mla, v) {
  v.summary("causal, rotary positions on the last features only: multi-head latent attention");
  v.source("DeepSeek-AI 2024, DeepSeek-V2, arXiv:2405.04434, section 2.1");
  v.family("transform");
  v.note("d_qk 192 = 128 without and 64 with positions, d_v 128");
  v.note(
      "absorbed form: d_qk 576 and d_v 512, one KV head; k is the latent cache [512 latent, 64 "
      "turned "
      "here], v the view of its first 512 features, and call.scale = 1/sqrt(192) as before");
  v.note("a cache that holds turned keys wants causal instead");
  rotate_last(v, RopeLayout::Interleaved, [](const ExampleShape& s) {
    return rope_plain(s.d_qk >= 128 ? 64 : std::max<int64_t>(2, s.d_qk / 4 * 2), 10000);
  });
  v.keep(masks::causal());
  v.returns(lse);
}
