// key_range_test.cpp: conditions on a key as ranges of a block.
// SPDX-License-Identifier: Apache-2.0
#include "generators/analysis/key_range.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

const Expr k = ir::Variable::make(Halide::Int(32), "k");

using Numbers = std::pair<int, int>;
constexpr Numbers none{0, -1};

// The numbers of a range without variables; all empty ranges are one.
Numbers numbers(const KeyRange& range) {
  const auto first = ir::as_const_int(range.first), last = ir::as_const_int(range.last);
  if (!first || !last) ADD_FAILURE() << range.first << " … " << range.last;
  if (!first || !last || *last < *first) return none;
  return {static_cast<int>(*first), static_cast<int>(*last)};
}

Numbers outer(const Expr& condition, int first) {
  return numbers(outer_key_range(condition, {first, first + 63}));
}
Numbers inner(const Expr& condition, int first) {
  return numbers(inner_key_range(condition, {first, first + 63}));
}

TEST(KeyRange, OfAConjunctionIsWhatItsPartsShare) {
  const Expr window = k <= 200 && 100 < k;
  EXPECT_EQ(outer(window, 0), none);
  EXPECT_EQ(outer(window, 64), Numbers(101, 127));
  EXPECT_EQ(outer(window, 128), Numbers(128, 191));
  EXPECT_EQ(inner(window, 192), Numbers(192, 200));
}

// What one part reaches in another block must not widen the range in this one.
TEST(KeyRange, OfADisjunctionGoesAroundThePartsInsideTheBlock) {
  const Expr first_or_window = k <= 200 && (k < 16 || 100 < k);
  EXPECT_EQ(outer(first_or_window, 0), Numbers(0, 15));
  EXPECT_EQ(outer(first_or_window, 64), Numbers(101, 127));
  EXPECT_EQ(outer(first_or_window, 192), Numbers(192, 200));
  EXPECT_EQ(outer(first_or_window, 256), none);
  EXPECT_EQ(outer(k < 16 || 40 < k, 0), Numbers(0, 63));
}

TEST(KeyRange, InsideADisjunctionIsTheLongerPart) {
  EXPECT_EQ(inner(k < 16 || 40 < k, 0), Numbers(41, 63));
  EXPECT_EQ(inner(k < 16 || 60 < k, 0), Numbers(0, 15));
  EXPECT_EQ(inner(k < 16 || 100 < k, 64), Numbers(101, 127));
}

TEST(KeyRange, WhatSaysNothingOfTheKeyIsAllOrNothing) {
  EXPECT_EQ(outer(ir::const_true(), 64), Numbers(64, 127));
  EXPECT_EQ(outer(ir::const_false(), 64), none);
  EXPECT_EQ(inner(ir::const_false() || k < 70, 64), Numbers(64, 69));
}

// As two parts: the solver alone finds the wrong keys for choices like this one.
TEST(KeyRange, OfAChoice) {
  const Expr q = ir::Variable::make(Halide::Int(32), "q");
  const Expr choice = Halide::select(k < 25, q > 51, k <= q);
  const auto at = [](const KeyRange& range, int value) {
    return numbers({ir::simplify(ir::substitute("q", value, range.first)),
                    ir::simplify(ir::substitute("q", value, range.last))});
  };
  const KeyRange block{0, 63};
  EXPECT_EQ(at(outer_key_range(choice, block), 40), Numbers(25, 40));
  EXPECT_EQ(at(outer_key_range(choice, block), 60), Numbers(0, 60));
  EXPECT_EQ(at(inner_key_range(choice, block), 40), Numbers(25, 40));
  EXPECT_EQ(at(inner_key_range(!choice, block), 60), Numbers(61, 63));
}

// Of conditions that search lists the range would be larger than what it saves.
TEST(KeyRange, ManyPartsAreTheWholeBlock) {
  Expr listed = k == 3;
  for (const int key : {5, 9, 17, 33, 60}) listed = listed || k == key;
  EXPECT_EQ(outer(listed, 0), Numbers(0, 63));
  EXPECT_EQ(inner(listed, 0), none);
}

// A condition that is no range: around what may hold, and inside it nothing.
TEST(KeyRange, StripesAreOnlyBoundedFromOutside) {
  const Expr striped = k % 4 == 1;
  EXPECT_EQ(outer(striped, 0), Numbers(0, 63));
  EXPECT_EQ(inner(striped, 0), none);
}

// Numbers stay those of the mask itself: a product with a large divisor would wrap.
TEST(KeyRange, DividedKeysDoNotWrap) {
  const Expr size = ir::Variable::make(Halide::Int(32), "size"),
             q = ir::Variable::make(Halide::Int(32), "q");
  constexpr int far = 1 << 30;
  const auto at = [](const KeyRange& range, int of_size, int of_q) {
    const std::map<std::string, Expr> values = {{"size", of_size}, {"q", of_q}};
    return numbers({ir::simplify(ir::substitute(values, range.first)),
                    ir::simplify(ir::substitute(values, range.last))});
  };
  for (const Expr& blocks : {k / size <= q / size, k / size - 1 <= q, (k - q) / size <= 0}) {
    SCOPED_TRACE(blocks);
    const KeyRange outer_range = outer_key_range(blocks && k <= 40, {0, 63});
    EXPECT_EQ(at(outer_range, far, far), Numbers(0, 40));
    EXPECT_EQ(at(outer_range, far, 0), Numbers(0, 40));
    at(inner_key_range(blocks, {0, 63}), far, far);
  }
}

}  // namespace
}  // namespace fovea
