// retention.cpp: scores that decay with distance (RetNet).
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>

#include <cmath>
#include <cstdint>
#include <vector>

using namespace fovea;

FOVEA_VARIANT(retention, v) {
  auto log_decay = v.table<float>("log_decay", {axis::head});
  log_decay.describe("natural logarithm of the decay per token; above 0 counts as 0")
      .example([](const ExampleShape&, const std::vector<int64_t>& i) {
        return std::log1p(-std::exp2(-5.0 - static_cast<double>(i[0])));
      });
  v.summary("scores times decay[head]^distance as weights, no softmax: retention of RetNet");
  v.source("Sun et al. 2023, Retentive Network, arXiv:2307.08621, equation 5");
  v.family("normaliser");
  v.note(
      "the parallel form; rotation of q and k and the group norm of the output belong around the "
      "call");
  v.score([=](Expr s, Position p) {
    return s * exp(min(log_decay(p.head), 0.0f) * cast<float>(max(p.q - p.k, 0)));
  });
  v.normalize(identity());
  v.keep(masks::causal());
}
