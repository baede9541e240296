// full.cpp: plain attention: every query sees every key (BERT, cross-attention).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// out = softmax(scale q k^T) v.
FOVEA_VARIANT(full, v) {
  v.summary("every query sees every key: BERT, cross-attention");
  v.source("Vaswani et al. 2017, Attention Is All You Need, arXiv:1706.03762, equation 1");
  v.family("basic");
  v.note(
      "self- and cross-attention, multi-head, grouped (GQA) and multi-query (MQA) are shapes of "
      "the "
      "call");
  v.returns(lse);
}
