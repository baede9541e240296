// lowering_test.cpp: the lowering passes on small pipelines of their own.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "generators/lowering/register_tiles.h"
#include "generators/lowering/transpose_loads.h"
#include "generators/lowering/wide_offsets.h"
#include "generators/targets/target_table.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;
using Halide::Expr;
using Halide::Func;
using Halide::Var;

// Vector loads of one buffer in lowered code: those with neighbours in their lanes, and others.
class CountLoads : public ir::IRVisitor {
 public:
  explicit CountLoads(std::string buffer) : buffer_(std::move(buffer)) {}
  int dense = 0, gathers = 0;

 private:
  using ir::IRVisitor::visit;
  void visit(const ir::Load* op) override {
    const auto* ramp = op->index.as<ir::Ramp>();
    if (op->name == buffer_ && op->type.is_vector())
      ++(ramp && ir::is_const_one(ramp->stride) ? dense : gathers);
    ir::IRVisitor::visit(op);
  }
  std::string buffer_;
};

// turned(row, d) = in(d, row), clamped to the last row, by squares of `lanes`.
template <typename T>
struct Turned {
  explicit Turned(int lanes, int columns) : in(Halide::type_of<T>(), 2, "in") {
    const Var feature("feature"), lane("lane");
    turned = Func("turned");
    turned(row, d) = in(d, Halide::min(row, in.dim(1).extent() - 1));
    in.dim(0).set_bounds(0, columns);
    in.dim(1).set_min(0);
    turned.bound(d, 0, columns)
        .split(row, row, lane, lanes)
        .split(d, d, feature, lanes)
        .reorder(lane, feature, d, row)
        .vectorize(lane)
        .unroll(feature);
    turned.add_custom_lowering_pass(&pass, nullptr);
  }
  Var row{"row"}, d{"d"};
  Halide::ImageParam in;
  Func turned;
  TransposeLoads pass;
};

template <typename T>
void expect_transposed(int lanes, const Halide::Target& target) {
  SCOPED_TRACE(std::to_string(lanes) + " lanes of " + std::to_string(sizeof(T)) + " bytes");
  const int columns = 2 * lanes, rows = 3 * lanes - 1;
  // Rows that do not lie next to each other, and more rows asked for than there are.
  const int stride = columns + 3;
  std::vector<T> data(static_cast<size_t>(stride * rows));
  std::iota(data.begin(), data.end(), T{1});
  halide_dimension_t shape[2] = {{0, columns, 1}, {0, rows, stride}};
  Halide::Buffer<T> in(data.data(), 2, shape);
  Turned<T> t(lanes, columns);
  t.in.set(in);
  const Halide::Buffer<T> got = t.turned.realize({4 * lanes, columns}, target);
  for (int d = 0; d < columns; ++d) {
    for (int row = 0; row < 4 * lanes; ++row)
      ASSERT_EQ(got(row, d), in(d, std::min(row, rows - 1))) << row << ", " << d;
  }
}

TEST(TransposeLoads, ColumnsAreWhatTheyWere) {
  const Halide::Target avx2("x86-64-linux-sse41-avx-f16c-fma-avx2");
  for (const int lanes : {4, 8, 16}) {
    expect_transposed<float>(lanes, avx2);
    expect_transposed<uint16_t>(lanes, avx2);
    expect_transposed<uint8_t>(lanes, avx2);
  }
}

TEST(TransposeLoads, RowsAreReadWhole) {
  for (const int lanes : {8, 16}) {
    Turned<float> t(lanes, 2 * lanes);
    t.turned.bound(t.row, 0, 4 * lanes);
    const Halide::Module module =
        t.turned.compile_to_module({t.in}, "turned", kernel_target(*find_target("x86-avx2")));
    CountLoads count("in");
    for (const ir::LoweredFunc& f : module.functions()) f.body.accept(&count);
    EXPECT_GT(count.dense, 0);
    EXPECT_EQ(count.gathers, 0);
  }
}

// A buffer that is filled in the same scope, here by a loop before it, is not read ahead of that.
// One square, so that no loop is left around the gathers.
TEST(TransposeLoads, WhatIsComputedHereIsNotReadTooEarly) {
  Var row("row"), d("d");
  Func made("made"), turned("turned");
  made(row, d) = row * 100 + d;
  turned(d, row) = made(row, d);
  made.compute_root().bound(row, 0, 8).bound(d, 0, 8);
  turned.bound(d, 0, 8).bound(row, 0, 8).vectorize(d, 8).unroll(row, 8);
  TransposeLoads pass;
  turned.add_custom_lowering_pass(&pass, nullptr);
  const Halide::Buffer<int> got =
      turned.realize({8, 8}, Halide::Target("x86-64-linux-sse41-avx-f16c-fma-avx2"));
  for (int x = 0; x < 8; ++x) {
    for (int y = 0; y < 8; ++y) EXPECT_EQ(got(x, y), y * 100 + x);
  }
}

// Too few neighbours for a square: left as it was.
TEST(TransposeLoads, PartsOfASquareStayGathers) {
  Halide::ImageParam in(Halide::Float(32), 2, "in");
  Var row("row"), d("d"), lane("lane");
  Func turned("turned");
  turned(row, d) = in(d, row);
  turned.bound(d, 0, 4).split(row, row, lane, 8).reorder(lane, d, row).vectorize(lane).unroll(d);
  TransposeLoads pass;
  turned.add_custom_lowering_pass(&pass, nullptr);
  const Halide::Module module =
      turned.compile_to_module({in}, "turned", kernel_target(*find_target("x86-avx2")));
  CountLoads count("in");
  for (const ir::LoweredFunc& f : module.functions()) f.body.accept(&count);
  EXPECT_GT(count.gathers, 0);
}

TEST(SeparateRegisterTiles, OnlyThoseInRegistersChangeTheirType) {
  Var x("x");
  Func a("a"), b("b"), c("c");
  a(x) = Halide::cast<float>(x);
  b(x) = a(x) + a(x + 1);
  c(x) = b(x) * 2.0f;
  c.bound(x, 0, 64);
  a.compute_root();
  b.compute_at(c, x).store_in(Halide::MemoryType::Register);
  c.split(x, x, Var("inner"), 16);
  SeparateRegisterTiles pass;
  c.add_custom_lowering_pass(&pass, nullptr);
  const Halide::Module module =
      c.compile_to_module({}, "c", kernel_target(*find_target("x86-avx2")));
  struct Allocations : ir::IRVisitor {
    using ir::IRVisitor::visit;
    void visit(const ir::Allocate* op) override {
      const auto elements = ir::Allocate::constant_allocation_size(op->extents, op->name);
      bytes[op->name] = elements * op->type.bytes();
      types[op->name] = op->type;
      ir::IRVisitor::visit(op);
    }
    std::map<std::string, int> bytes;
    std::map<std::string, Halide::Type> types;
  } allocations;
  for (const ir::LoweredFunc& f : module.functions()) f.body.accept(&allocations);
  EXPECT_EQ(allocations.types.at(a.name()), Halide::Float(32));
  EXPECT_EQ(allocations.types.at(b.name()), Halide::Float(64));
  EXPECT_EQ(allocations.bytes.at(b.name()), 16 * 4);
}

// Offsets beyond 32 bits survive an index of 32 bits, however lowering writes the conversions.
TEST(WideOffsets, NothingIsNarrowed) {
  const Halide::Type wide = Halide::Int(64), narrow = Halide::Int(32);
  const Expr offset = ir::Variable::make(wide, "offset"), d = ir::Variable::make(narrow, "d");
  const Expr narrowed = Halide::cast(narrow, offset);
  const auto pass = [](const Expr& e) { return ir::simplify(WideOffsets().mutate(e)); };
  const auto value = [&](const Expr& e) {
    return *ir::as_const_int(ir::simplify(ir::substitute(
        {{"offset", ir::make_const(Halide::Int(64), int64_t{1} << 40)}, {"d", Expr(7)}}, pass(e))));
  };
  EXPECT_EQ(value(Halide::cast(wide, narrowed)), int64_t{1} << 40);
  EXPECT_EQ(value(Halide::cast(wide, narrowed + d)), (int64_t{1} << 40) + 7);
  const Expr sum =
      ir::Call::make(wide, ir::Call::widening_add, {narrowed, d}, ir::Call::PureIntrinsic);
  EXPECT_EQ(value(sum), (int64_t{1} << 40) + 7);
  const Expr t = ir::Variable::make(narrow, "t");
  EXPECT_EQ(value(ir::Let::make("t", narrowed, Halide::cast(wide, t) + Halide::cast(wide, d))),
            (int64_t{1} << 40) + 7);
  // Other conversions stay.
  EXPECT_TRUE(ir::equal(pass(Halide::cast(wide, d)), Halide::cast(wide, d)));
}

}  // namespace
}  // namespace fovea
