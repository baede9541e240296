// qk_norm.cpp: normalised queries and keys.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(qk_norm, v) {
  auto epsilon = v.scalar<float>("epsilon").positive();
  auto query_weight = v.table<float>("query_weight", {axis::feature});
  auto key_weight = v.table<float>("key_weight", {axis::feature});
  epsilon.describe("added to the mean of squares").example(1e-6f);
  query_weight.describe("gain of each feature of the query").example(example::scattered(0.5, 1.5));
  key_weight.describe("gain of each feature of the key").example(example::scattered(0.5, 1.5));
  v.summary("causal with RMS-normalised queries and keys: QK-norm of Qwen 3, OLMo 2");
  v.source(
      "Henry et al. 2020, Query-Key Normalization, arXiv:2010.04245; Dehghani et al. 2023, "
      "arXiv:2302.05442");
  v.family("transform");
  v.note(
      "per head, as in Qwen 3 and Gemma 3 (whose gain is 1 + weight); OLMo 2 normalises over all "
      "heads");
  v.query([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, epsilon) * query_weight(d);
  });
  v.key([=](const Row& row, Expr d, const Position&) {
    return rms_normalized(row, d, epsilon) * key_weight(d);
  });
  v.keep(masks::causal());
  v.returns(lse);
}
