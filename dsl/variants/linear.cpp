// linear.cpp: scores as weights.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(linear, v) {
  v.summary("the scores themselves are the weights: linear attention without a feature map");
  v.source(
      "Katharopoulos et al. 2020, Transformers are RNNs, arXiv:2006.16236; Schlag et al. 2021, "
      "arXiv:2102.11174");
  v.family("normaliser");
  v.note(
      "the quadratic form: exact, but not in linear time; feature maps belong to q and k before "
      "the call");
  v.normalize(identity());
  v.keep(masks::causal());
}
