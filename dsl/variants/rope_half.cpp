// rope_half.cpp: rotary positions, pairs of features of the two halves.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(rope_half, v) {
  v.summary(
      "causal with rotary positions, pairs of features i and i+n/2: GPT-NeoX, Llama in Hugging "
      "Face layout");
  v.source(
      "Su et al. 2021, RoFormer, arXiv:2104.09864; Black et al. 2022, GPT-NeoX, arXiv:2204.06745");
  v.family("transform");
  v.note("tables of cosines and sines decide base, scaling and how many features are turned");
  v.note("keys are turned when they are read: a cache that holds turned keys wants causal");
  rotate(v, RopeLayout::Half, [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });
  v.keep(masks::causal());
  v.returns(lse);
}
