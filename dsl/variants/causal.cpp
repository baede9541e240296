// causal.cpp: each token sees itself and what came before (GPT).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// Bottom-right aligned by default: with q_len < kv_len the last query sees the last key
// (FlashAttention's convention since 2.1); q_offset = 0 gives PyTorch's top-left alignment.
FOVEA_VARIANT(causal, v) {
  v.summary("each token sees itself and what came before: GPT");
  v.source("Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762, section 3.2.3");
  v.family("basic");
  v.note(
      "the diagonal ends in the last query and the last key (FlashAttention); q_offset = 0 aligns "
      "the first ones (PyTorch's is_causal), and any other offset is given at run time");
  v.keep(masks::causal());
  v.returns(lse);
}
