// lane_broadcasts_test.cpp: the pass on sums of a small pipeline, whose numbers must stay.
// SPDX-License-Identifier: Apache-2.0
#include "generators/lowering/lane_broadcasts.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "generators/targets/target_table.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

constexpr int terms = 24, columns = 8;

class CountLoads : public ir::IRVisitor {
 public:
  explicit CountLoads(std::string buffer) : buffer_(std::move(buffer)) {}
  int scalars = 0, vectors = 0;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Load* op) override {
    if (op->name == buffer_) ++(op->type.is_scalar() ? scalars : vectors);
    ir::IRVisitor::visit(op);
  }
  std::string buffer_;
};

struct Counted {
  int scalars, vectors;
  Halide::Buffer<float> sums;
};

// sum(x) over r of in(x) * factors(index(r)), `unroll` steps at a time, with the pass.
Counted summed(int unroll, const std::function<Expr(Expr)>& index,
               const std::function<Expr(Expr)>& condition = nullptr) {
  const Var x("x");
  Halide::ImageParam in(Halide::Float(32), 1, "in"), factors(Halide::Float(32), 1, "factors");
  RDom r(0, terms, "r");
  if (condition) r.where(condition(r));
  Func sum("sum");
  sum(x) = 0.0f;
  sum(x) += in(x)*factors(index(r));
  sum.bound(x, 0, columns).vectorize(x).update().reorder(x, r).vectorize(x).unroll(r, unroll);
  LaneBroadcasts pass;
  sum.add_custom_lowering_pass(&pass, nullptr);
  const Halide::Target target("x86-64-linux-sse41-no_asserts");
  const Halide::Module module = sum.compile_to_module({in, factors}, "sum", target);
  CountLoads loads("factors");
  for (const ir::LoweredFunc& f : module.functions()) f.body.accept(&loads);
  Halide::Buffer<float> numbers(columns), values(2 * terms);
  for (int i = 0; i < columns; ++i) numbers(i) = static_cast<float>(i + 1);
  for (int i = 0; i < 2 * terms; ++i) values(i) = static_cast<float>(i * i % 17);
  in.set(numbers);
  factors.set(values);
  Counted counted = {loads.scalars, loads.vectors, sum.realize({columns}, target)};
  for (int i = 0; i < columns; ++i) {
    float expected = 0;
    for (int k = 0; k < terms; ++k) {
      const auto constant = [k](const std::function<Expr(Expr)>& f) {
        return *ir::as_const_int(ir::simplify(ir::Cast::make(Halide::Int(32), f(Expr(k)))));
      };
      if (condition && constant(condition) == 0) continue;
      expected += numbers(i) * values(static_cast<int>(constant(index)));
    }
    EXPECT_EQ(counted.sums(i), expected) << i;
  }
  return counted;
}

TEST(LaneBroadcasts, FourNeighboursAreOneLoad) {
  const Counted four = summed(4, [](const Expr& r) { return r; });
  EXPECT_EQ(four.scalars, 0);
  EXPECT_EQ(four.vectors, 1);
  const Counted eight = summed(8, [](const Expr& r) { return r + 3; });
  EXPECT_EQ(eight.scalars, 0);
  EXPECT_EQ(eight.vectors, 2);
}

TEST(LaneBroadcasts, FewerOrFartherOnesStay) {
  const Counted two = summed(2, [](const Expr& r) { return r; });
  EXPECT_EQ(two.scalars, 2);
  EXPECT_EQ(two.vectors, 0);
  const Counted apart = summed(4, [](const Expr& r) { return 2 * r; });
  EXPECT_EQ(apart.scalars, 4);
  EXPECT_EQ(apart.vectors, 0);
  // Of six the first four.
  const Counted six = summed(6, [](const Expr& r) { return r; });
  EXPECT_EQ(six.scalars, 2);
  EXPECT_EQ(six.vectors, 1);
}

// What is read only under a condition may not be there otherwise.
TEST(LaneBroadcasts, ConditionalOnesStay) {
  const Counted odd =
      summed(4, [](const Expr& r) { return r; }, [](const Expr& r) { return r % 3 != 1; });
  EXPECT_EQ(odd.vectors, 0);
}

TEST(LaneBroadcasts, AreForArm) {
  for (const TargetRow& row : target_table()) {
    EXPECT_EQ(multiplies_by_lanes(kernel_target(row)), std::string(row.architecture) == "arm64")
        << row.name;
  }
}

}  // namespace
}  // namespace fovea
