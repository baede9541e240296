// relative_bias.h: biases by distance: T5's buckets, ALiBi's slopes.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_DSL_RELATIVE_BIAS_H
#define FOVEA_DSL_RELATIVE_BIAS_H

#include <fovea/dsl/position.h>

#include <cstdint>
#include <vector>

namespace fovea {

// T5's bucket of a distance k - q (Raffel et al. 2020, arXiv:1910.10683, section 2.1): exact for
// the nearer half, then wider and wider up to max_distance, everything beyond in the last one.
// Bidirectional: half of the buckets for keys after the query, the upper half. Otherwise keys after
// the query count as distance 0.
struct T5Buckets {
  int count = 32;
  int max_distance = 128;
  bool bidirectional = true;

  // Int(32), 0 … count-1. Comparisons of integers only, so it is the same on every target; the
  // published code takes a logarithm in f32.
  Expr operator()(Expr distance) const;

  // Buckets of one direction, and how many of them hold exactly one distance.
  int one_way() const { return bidirectional ? count / 2 : count; }
  int exact() const { return one_way() / 2; }
  // The smallest distances of the buckets exact()+1 … one_way()-1.
  std::vector<int> thresholds() const;
};

// ALiBi's slopes of `heads` heads (Press et al. 2022, arXiv:2108.12409). For a power of two the
// geometric series 2^(-8/n), 2^(-16/n), …; otherwise that of the next lower power of two, followed
// by every other slope of twice as many heads: the authors' code, MPT and BLOOM.
std::vector<float> alibi_slopes(int64_t heads);
// 2^(-8 (h+1) / heads) for any number of heads: the series of the paper's text.
std::vector<float> alibi_slopes_geometric(int64_t heads);

}  // namespace fovea

#endif
