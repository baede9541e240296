// squared_relu.cpp: a weight function of one's own, divided by its sum.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

using namespace fovea;

FOVEA_VARIANT(squared_relu, v) {
  v.summary("weights max(score, 0)^2 divided by their sum: a normaliser of one's own");
  v.source(
      "an example of weights(f).divided_by(g); the function is that of So et al. 2021, Primer, "
      "arXiv:2109.08668");
  v.family("normaliser");
  v.note("a row without any positive score gives 0, because the sum is taken as at least 1e-6");
  v.normalize(weights([](Expr s, Position) {
                return max(s, 0.0f) * max(s, 0.0f);
              }).divided_by([](Expr sum, Position) { return max(sum, 1e-6f); }));
  v.keep(masks::causal());
  v.returns(row_sum);
}
