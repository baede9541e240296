// decode_lowering_test.cpp: the lowering passes of the decode pass on small pipelines of their own.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "generators/lowering/fetch_ahead.h"
#include "generators/lowering/sum_lanes.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::Var;

// What is left in lowered code once the passes before it have run.
class Count : public ir::IRMutator {
 public:
  int reductions = 0, wishes = 0, prefetches = 0;

 private:
  using ir::IRMutator::visit;
  Expr visit(const ir::VectorReduce* op) override {
    ++reductions;
    return ir::IRMutator::visit(op);
  }
  Expr visit(const ir::Call* op) override {
    wishes += op->name == fetch_ahead_name;
    prefetches += op->name == "llvm.prefetch.p0";
    return ir::IRMutator::visit(op);
  }
};

// Entries that are powers of two times small numbers: sums are exact in any order.
float entry(int lane, int place) { return static_cast<float>((lane * 37 + place * 11) % 64 - 20); }

// One sum for each of `places` vectors of `lanes` floats.
int reductions_of_sums(int lanes, int places) {
  const Var lane("lane"), place("place");
  const RDom r(0, lanes, "r");
  Func vectors("vectors"), sums("sums"), out("out");
  vectors(lane, place) = Halide::cast<float>((lane * 37 + place * 11) % 64 - 20);
  sums(place) = 0.0f;
  sums(place) += vectors(r, place);
  out(place) = sums(place);
  out.bound(place, 0, places);
  vectors.compute_root().bound(lane, 0, lanes).bound(place, 0, places);
  sums.compute_root().bound(place, 0, places).vectorize(place);
  sums.update().reorder(r, place).atomic().vectorize(r).vectorize(place);
  SumLanes sum_lanes;
  Count count;
  out.add_custom_lowering_pass(&sum_lanes, nullptr);
  out.add_custom_lowering_pass(&count, nullptr);
  const Halide::Buffer<float> got = out.realize({places}, Halide::get_host_target());
  for (int p = 0; p < places; ++p) {
    float expected = 0.0f;
    for (int i = 0; i < lanes; ++i) expected += entry(i, p);
    EXPECT_EQ(got(p), expected) << "sum " << p << " of " << places << ", " << lanes << " lanes";
  }
  return count.reductions;
}

TEST(SumLanes, SumsAreWhatTheyWere) {
  for (const int lanes : {4, 8, 16}) EXPECT_EQ(reductions_of_sums(lanes, lanes), 0) << lanes;
  for (const int places : {8, 16}) EXPECT_EQ(reductions_of_sums(4, places), 0) << places;
}

TEST(SumLanes, OthersStayReductions) {
  EXPECT_GT(reductions_of_sums(8, 16), 0);
  EXPECT_GT(reductions_of_sums(16, 4), 0);
}

struct Ahead {
  int prefetches = 0, wishes = 0;
  Halide::Buffer<float> out;
};

// Twice the input, 32 floats in the body of a loop, each wished for by both of its uses.
Ahead twice(const Halide::Buffer<float>& in, int distance) {
  const Var x("x"), xi("xi");
  Halide::ImageParam input(Halide::Float(32), 1, "input");
  Func out("out");
  out(x) = fetch_ahead(input(x), input(x + distance)) +
           fetch_ahead(input(x), 3.0f * input(x + distance));
  out.align_bounds(x, 32).split(x, x, xi, 32).vectorize(xi, 8).unroll(xi);
  FetchAhead fetch({input.name()});
  Count count;
  out.add_custom_lowering_pass(&fetch, nullptr);
  out.add_custom_lowering_pass(&count, nullptr);
  input.set(in);
  // What is wished for is not part of what has to be there.
  const Halide::Target target = Halide::get_host_target()
                                    .with_feature(Halide::Target::NoAsserts)
                                    .with_feature(Halide::Target::NoBoundsQuery);
  Ahead ahead;
  ahead.out = Halide::Buffer<float>(in.width());
  out.realize(ahead.out, target);
  ahead.prefetches = count.prefetches;
  ahead.wishes = count.wishes;
  return ahead;
}

TEST(FetchAhead, EveryLineIsAskedForOnce) {
  Halide::Buffer<float> in(128);
  in.for_each_element([&](int x) { in(x) = static_cast<float>(x); });
  const Ahead ahead = twice(in, 16);
  // Four vectors of 32 bytes are two lines.
  EXPECT_EQ(ahead.prefetches, 2);
  EXPECT_EQ(ahead.wishes, 0);
  for (int x = 0; x < 128; ++x) EXPECT_EQ(ahead.out(x), static_cast<float>(2 * x));
}

TEST(FetchAhead, NothingIsReadBehindTheEnd) {
  Halide::Buffer<float> in(128);
  in.for_each_element([&](int x) { in(x) = static_cast<float>(x); });
  // Pages that nobody has.
  const Ahead ahead = twice(in, 1 << 28);
  EXPECT_EQ(ahead.prefetches, 2);
  for (int x = 0; x < 128; ++x) EXPECT_EQ(ahead.out(x), static_cast<float>(2 * x));
}

}  // namespace
}  // namespace fovea
