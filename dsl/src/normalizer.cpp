// normalizer.cpp: the normalisers that have a name.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/normalizer.h>

#include <utility>

namespace fovea {

Normalizer Normalizer::sink(SinkLogit logit) const {
  Normalizer n = *this;
  n.sink_logit = std::move(logit);
  return n;
}

Normalizer Normalizer::sink(const Table<float>& per_head) const {
  return sink([per_head](const Position& p) { return per_head(p.head); });
}

Normalizer Normalizer::divided_by(Divisor by) const {
  Normalizer n = *this;
  n.divisor = std::move(by);
  return n;
}

Normalizer softmax() { return {}; }

Normalizer weights(Normalizer::WeightFunction weight) {
  Normalizer n;
  n.kind = Normalizer::Kind::Weights;
  n.weight = std::move(weight);
  return n;
}

Normalizer sigmoid() {
  return weights([](Expr s, const Position&) { return sigmoid(s); });
}

Normalizer relu() {
  return weights([](Expr s, const Position&) { return Halide::max(s, 0.0f); });
}

Normalizer identity() {
  return weights([](Expr s, const Position&) { return s; });
}

Expr sigmoid(Expr x) {
  const Expr e = Halide::exp(-Halide::abs(x));
  return Halide::select(x >= 0.0f, 1.0f, e) / (1.0f + e);
}

Expr symbolic_weight_sum() { return Halide::Internal::Variable::make(Halide::Float(32), "sum"); }

}  // namespace fovea
