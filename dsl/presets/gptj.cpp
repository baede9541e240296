// gptj.cpp: GPT-J.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gptj, v) {
  v.summary("GPT-J: causal, 64 of 256 features turned in neighbouring pairs");
  v.source("Wang and Komatsuzaki 2021, GPT-J-6B");
  v.family("model");
  v.note(
      "keys are turned when they are read: for a cache that holds turned keys take the variant "
      "without rotation");
  rotate(v, RopeLayout::Interleaved,
         [](const ExampleShape& s) { return rope_plain(s.d_qk >= 256 ? 64 : s.d_qk, 10000); });
  v.keep(masks::causal());
  v.returns(lse);
}
