// key_range.h: conditions on a key as one range of the keys of a block.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_ANALYSIS_KEY_RANGE_H
#define FOVEA_GENERATORS_ANALYSIS_KEY_RANGE_H

#include <Halide.h>

namespace fovea {

// Keys first … last of a block; none where last < first.
struct KeyRange {
  Halide::Expr first, last;

  // That a key lies in it, over `k`.
  Halide::Expr condition() const;
};

// The keys between block.first and block.last for which a condition over the variable `k` may
// hold (outer), or some for which it holds (inner; the most that one part of a disjunction gives).
// Halide's own solver takes the parts of a disjunction for as wide as they are outside the block:
// of "one of the first keys, or inside the window" it makes the whole of the first block.
KeyRange outer_key_range(const Halide::Expr& condition, const KeyRange& block);
KeyRange inner_key_range(const Halide::Expr& condition, const KeyRange& block);

}  // namespace fovea

#endif
