// full.cpp: plain attention: every query sees every key (BERT, cross-attention).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

// out = softmax(scale q k^T) v. Vaswani et al. 2017, "Attention Is All You Need", equation 1.
FOVEA_VARIANT(full, v) {
  v.summary("every query sees every key: BERT, cross-attention");
  v.returns(lse);
}
