// gpt_neox.cpp: GPT-NeoX and Pythia.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <algorithm>
#include <cstdint>

using namespace fovea;

FOVEA_VARIANT(gpt_neox, v) {
  v.summary("GPT-NeoX, Pythia: causal, the first quarter of the features turned");
  v.source("Black et al. 2022, GPT-NeoX-20B, arXiv:2204.06745");
  v.family("model");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate(v, RopeLayout::Half,
         [](const ExampleShape& s) { return rope_plain(std::max<int64_t>(2, s.d_qk / 4), 10000); });
  v.keep(masks::causal());
  v.returns(lse);
}
