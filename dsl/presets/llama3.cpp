// llama3.cpp: Llama 2 and 3.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(llama3, v) {
  v.summary("Llama 3: causal, grouped queries, rotary positions in halves");
  v.source("Grattafiori et al. 2024, The Llama 3 Herd of Models, arXiv:2407.21783");
  v.family("model");
  v.note("weights in Hugging Face layout; Meta's own need neighbouring pairs: rope_interleaved");
  v.note("the example tables are those of Llama 3.1 (base 500000, scaled by 8 from 8192)");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate(v, RopeLayout::Half,
         [](const ExampleShape& s) { return rope_llama3(s.d_qk, 500000, {}); });
  v.keep(masks::causal());
  v.returns(lse);
}
