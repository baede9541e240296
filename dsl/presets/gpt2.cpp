// gpt2.cpp: GPT-2 and GPT-3 (dense layers).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(gpt2, v) {
  v.summary("GPT-2: causal, learned absolute positions outside of the attention");
  v.source("Radford et al. 2019, Language Models are Unsupervised Multitask Learners");
  v.family("model");
  v.keep(masks::causal());
  v.returns(lse);
}
