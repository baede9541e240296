// inspected.cpp: all that can be looked at: LSE, largest score, sum and weights.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(inspected, v) {
  v.summary("causal with every extra output: LSE, row maximum, row sum and probabilities");
  v.source("for looking into a model; the weights are PyTorch MultiheadAttention's need_weights");
  v.family("basic");
  v.note("probabilities need memory in proportion to q_len * kv_len");
  v.keep(masks::causal());
  v.returns(lse);
  v.returns(row_max);
  v.returns(row_sum);
  v.returns(probabilities);
}
