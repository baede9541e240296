// differential.cpp: the difference of two softmaxes.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <vector>

using namespace fovea;

FOVEA_VARIANT(differential, v) {
  auto lambda = v.table<float>("lambda", {axis::head});
  auto initial = v.scalar<float>("lambda_init").between(0, 1);
  auto epsilon = v.scalar<float>("epsilon").positive();
  auto weight = v.table<float>("weight", {axis::value_feature});
  lambda.describe("share of the second softmax that is taken off")
      .example(example::scattered(0.2, 0.9));
  initial.describe("the layer's initial lambda; the output is multiplied by 1 - lambda_init")
      .example(0.8f);
  epsilon.describe("added to the mean of squares").example(1e-5f);
  weight.describe("gain of each feature of the output").example(example::scattered(0.5, 1.5));
  v.summary("causal, the softmax of one half of the features minus that of the other: DIFF");
  v.source("Ye et al. 2024, Differential Transformer, arXiv:2410.05258");
  v.family("normaliser");
  v.note(
      "q and k hold both halves, so d_qk is twice the published head size; scale is that of one "
      "half");
  v.note("lambda is computed by the caller from its four learned vectors");
  v.slices(2, [=](const std::vector<Expr>& o, Position p) { return o[0] - lambda(p.head) * o[1]; });
  v.output([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, epsilon) * weight(d) * (1.0f - initial);
  });
  v.keep(masks::causal());
}
