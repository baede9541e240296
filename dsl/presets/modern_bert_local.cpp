// modern_bert_local.cpp: ModernBERT, local layers.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(modern_bert_local, v) {
  auto reach = v.scalar<int>("reach").at_least(0);
  reach.describe("tokens before and after the query that it sees").example(64);
  v.summary("ModernBERT, local layers: rotary positions, 64 tokens to either side");
  v.source("Warner et al. 2024, ModernBERT, arXiv:2412.13663");
  v.family("model");
  v.note("every third layer is global: full with rotary positions of base 160000");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });

  v.keep(masks::window(reach, reach));
  v.returns(lse);
}
