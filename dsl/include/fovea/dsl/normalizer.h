// normalizer.h: from scores to weights.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_NORMALIZER_H
#define FOVEA_DSL_NORMALIZER_H

#include <fovea/dsl/parameter.h>
#include <fovea/dsl/position.h>

#include <functional>

namespace fovea {

// softmax:  out = sum_k e^{s_k} v_k / (sum_k e^{s_k} [+ e^{sink}])     over the visible k
// weights:  out = sum_k w(s_k) v_k [/ divisor(sum_k w(s_k))]
// A row that sees no key has output 0 in each of them.
class Normalizer {
 public:
  enum class Kind { Softmax, Weights };
  using WeightFunction = std::function<Expr(Expr score, const Position&)>;
  using Divisor = std::function<Expr(Expr sum, const Position&)>;
  using SinkLogit = std::function<Expr(const Position&)>;

  // An extra logit of every row that carries no value: it takes part in the sum (and in the LSE),
  // is not scaled, and -infinity is the same as none (GPT-OSS; Xiao et al. 2023, arXiv:2309.17453).
  // A table of one axis is read at the query head.
  Normalizer sink(SinkLogit logit) const;
  Normalizer sink(const Table<float>& per_head) const;

  // Weights only: what the sum of weighted values is divided by.
  Normalizer divided_by(Divisor divisor) const;

  Kind kind = Kind::Softmax;
  WeightFunction weight;  // Weights
  Divisor divisor;        // Weights; empty: no division
  SinkLogit sink_logit;   // Softmax; empty: none
};

Normalizer softmax();
// Any function of the score (and of the position): one weight for each visible key.
Normalizer weights(Normalizer::WeightFunction weight);
Normalizer sigmoid();   // 1 / (1 + e^-s) (Ramapuram et al. 2024, arXiv:2409.04431)
Normalizer relu();      // max(s, 0)      (Wortsman et al. 2023, arXiv:2309.08586, without the 1/L)
Normalizer identity();  // s

// The logistic function as an expression that overflows nowhere.
Expr sigmoid(Expr x);

// How the sum of weights appears in a divisor: a Float(32) variable.
Expr symbolic_weight_sum();

}  // namespace fovea

#endif
