// rope_interleaved.cpp: rotary positions, pairs of neighbouring features.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(rope_interleaved, v) {
  v.summary(
      "causal with rotary positions, pairs of features 2i and 2i+1: GPT-J, Llama as Meta ships it");
  v.source("Su et al. 2021, RoFormer, arXiv:2104.09864");
  v.family("transform");
  v.note("tables of cosines and sines decide base, scaling and how many features are turned");
  v.note("keys are turned when they are read: a cache that holds turned keys wants causal");
  rotate(v, RopeLayout::Interleaved,
         [](const ExampleShape& s) { return rope_plain(s.d_qk, 10000); });
  v.keep(masks::causal());
  v.returns(lse);
}
