// relu_attention.cpp: a ReLU in place of the softmax.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(relu_attention, v) {
  v.summary("each weight is max(score, 0) / kv_len: ReLU attention");
  v.source(
      "Wortsman et al. 2023, Replacing softmax with ReLU in Vision Transformers, arXiv:2309.08586");
  v.family("normaliser");
  v.note("divided by the sequence's kv_len, also where a mask leaves fewer keys");
  v.normalize(relu().divided_by([](Expr, Position p) { return cast<float>(p.kv_len); }));
}
