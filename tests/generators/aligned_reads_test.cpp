// aligned_reads_test.cpp: which reads the pass calls aligned, and that they read what they did.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/aligned_reads.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;

Expr variable(const char* name, int bits) { return ir::Variable::make(Halide::Int(bits), name); }

// What GridItems leaves of neighbours: an index in 32 bits, and where the buffer begins in 64.
Expr read(const Halide::Type& type, const char* buffer, int stride = 1, int further = 0) {
  const int lanes = type.lanes();
  const Expr index = ir::Ramp::make(variable("row", 32) * 40 + further, stride, lanes);
  const Expr wide = ir::Cast::make(Halide::Int(64, lanes), index);
  return ir::Load::make(type, buffer, wide + ir::Broadcast::make(variable("start", 64), lanes), {},
                        {}, ir::const_true(lanes), {});
}

// Two stores of a value, under the condition and under its opposite, which a let has moved.
struct Branches {
  Expr aligned, other;
};
Branches passed(const Expr& value, bool as_words) {
  const Expr at = ir::Ramp::make(0, 1, value.type().lanes());
  const ir::Stmt store =
      ir::Store::make("out", value, at, {}, ir::const_true(value.type().lanes()), {});
  const ir::Stmt s = ir::LetStmt::make(
      "t", variable("wide_reads", 32) != 0,
      ir::IfThenElse::make(ir::Variable::make(Halide::Bool(), "t"), store, store));
  AlignedReads pass({"rows"}, "wide_reads", as_words);
  const ir::Stmt changed = pass.mutate(s);
  const auto* branch = changed.as<ir::LetStmt>()->body.as<ir::IfThenElse>();
  return {branch->then_case.as<ir::Store>()->value, branch->else_case.as<ir::Store>()->value};
}

// The element that a load of neighbours begins with, of row 3, in a buffer that begins at 16.
int64_t first_element(const ir::Load* load) {
  const auto* ramp = load->index.as<ir::Ramp>();
  EXPECT_NE(ramp, nullptr);
  if (!ramp) return -1;
  EXPECT_TRUE(ir::is_const_one(ramp->stride));
  const Expr first = ir::simplify(ir::substitute("start", ir::make_const(Halide::Int(64), 16),
                                                 ir::substitute("row", 3, ramp->base)));
  const auto number = ir::as_const_int(first);
  EXPECT_TRUE(number) << first;
  return number ? *number : -1;
}

bool is_aligned(const ir::Load* load) {
  return load->alignment.modulus == load->type.lanes() && load->alignment.remainder == 0;
}

TEST(AlignedReads, AreThoseUnderTheCondition) {
  const Branches b = passed(read(Halide::Float(32, 4), "rows"), true);
  const auto *aligned = b.aligned.as<ir::Load>(), *other = b.other.as<ir::Load>();
  ASSERT_TRUE(aligned && other);
  EXPECT_TRUE(is_aligned(aligned));
  EXPECT_FALSE(is_aligned(other));
  for (const ir::Load* load : {aligned, other}) {
    EXPECT_EQ(load->type, Halide::Float(32, 4));
    EXPECT_EQ(first_element(load), 3 * 40 + 16);
  }
}

TEST(AlignedReads, OfFewBitsAreOfWordsWhereVectorsOfOthersAreNotRead) {
  for (const int bits : {8, 16}) {
    const Halide::Type type = Halide::UInt(bits, 128 / bits);
    const Branches words = passed(read(type, "rows"), true);
    const auto* same_bits = words.aligned.as<ir::Reinterpret>();
    ASSERT_NE(same_bits, nullptr);
    EXPECT_EQ(same_bits->type, type);
    const auto* load = same_bits->value.as<ir::Load>();
    ASSERT_NE(load, nullptr);
    EXPECT_EQ(load->type, Halide::UInt(32, 4));
    EXPECT_TRUE(is_aligned(load));
    EXPECT_EQ(first_element(load), (3 * 40 + 16) * bits / 32);
    EXPECT_NE(words.other.as<ir::Load>(), nullptr);
    const Branches elements = passed(read(type, "rows"), false);
    ASSERT_NE(elements.aligned.as<ir::Load>(), nullptr);
    EXPECT_TRUE(is_aligned(elements.aligned.as<ir::Load>()));
  }
}

TEST(AlignedReads, BeginWholeReadsFromWhereRowsDo) {
  const Halide::Type type = Halide::UInt(16, 8);
  for (const int further : {8, 16, -8}) {
    const Branches b = passed(read(type, "rows", 1, further), true);
    const auto* same_bits = b.aligned.as<ir::Reinterpret>();
    ASSERT_NE(same_bits, nullptr) << further;
    const auto* load = same_bits->value.as<ir::Load>();
    EXPECT_TRUE(is_aligned(load)) << further;
    EXPECT_EQ(first_element(load), (3 * 40 + further + 16) / 2);
  }
  for (const int further : {1, 4, 20, -2}) {
    const Branches b = passed(read(type, "rows", 1, further), true);
    const auto* load = b.aligned.as<ir::Load>();
    ASSERT_NE(load, nullptr) << further;
    EXPECT_FALSE(is_aligned(load)) << further;
    EXPECT_EQ(first_element(load), 3 * 40 + further + 16);
  }
}

TEST(AlignedReads, OfOtherBuffersOtherSizesAndNoNeighboursStay) {
  for (const Expr& value : {read(Halide::Float(32, 4), "table"), read(Halide::Float(32, 8), "rows"),
                            read(Halide::Float(32, 4), "rows", 2)}) {
    const Branches b = passed(value, true);
    EXPECT_TRUE(ir::equal(b.aligned, value)) << b.aligned;
    EXPECT_TRUE(ir::equal(b.other, value)) << b.other;
  }
}

}  // namespace
}  // namespace fovea
