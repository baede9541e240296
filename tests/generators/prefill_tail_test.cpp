// prefill_tail_test.cpp: which body of a kernel computes a block of so many rows.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "generators/lowering/choose_body.h"
#include "generators/schedules/prefill_tail.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

// The kernel's own schedule and those of its tails, narrowest last.
struct Bodies {
  explicit Bodies(const PrefillCpuSchedule& wide, int d_v = 64) : usual(wide) {
    for (auto tail = tail_body(wide, d_v); tail; tail = tail_body(tail->schedule, d_v))
      tails.push_back(*tail);
  }
  // The schedule that a block of `rows` rows runs by.
  const PrefillCpuSchedule& of(int rows) const {
    for (size_t i = tails.size(); i-- > 0;) {
      if (ir::is_const_one(ir::simplify(tails[i].serves(rows)))) return tails[i].schedule;
    }
    return usual;
  }
  // Rows that it computes.
  int computed(int rows) const {
    const int tile = of(rows).tile_rows();
    return (rows + tile - 1) / tile * tile;
  }
  PrefillCpuSchedule usual;
  std::vector<TailBody> tails;
};

PrefillCpuSchedule schedule_of(int lanes, int row_vectors, int row_tiles, int tail_bodies) {
  PrefillCpuSchedule s;
  s.lanes = lanes, s.row_vectors = row_vectors, s.row_tiles = row_tiles;
  s.key_tile = 8, s.feature_group = 8, s.key_block = 128, s.feature_unroll = s.key_unroll = 4;
  s.tail_bodies = tail_bodies;
  return s;
}

TEST(TailBody, HoldsAllRowsAndNeverComputesMore) {
  for (const PrefillCpuSchedule& s :
       {schedule_of(16, 2, 1, 2), schedule_of(16, 1, 1, 1), schedule_of(16, 2, 4, 2),
        schedule_of(8, 3, 1, 1), schedule_of(8, 3, 4, 2), schedule_of(8, 3, 8, 1)}) {
    const Bodies bodies(s);
    EXPECT_EQ(bodies.tails.size(), static_cast<size_t>(s.tail_bodies));
    const Bodies without(s.with("tail_bodies=0"));
    for (int rows = 1; rows <= s.block_rows(); ++rows) {
      SCOPED_TRACE(s.text() + ": " + std::to_string(rows));
      EXPECT_LE(rows, bodies.of(rows).block_rows());
      EXPECT_LE(bodies.computed(rows), without.computed(rows));
    }
  }
}

TEST(TailBody, FewRowsMakeFewLanes) {
  const Bodies full(schedule_of(16, 2, 1, 2));
  EXPECT_EQ(full.computed(8), 8);
  EXPECT_EQ(full.computed(9), 16);
  EXPECT_EQ(full.computed(17), 32);
  const Bodies tiles(schedule_of(16, 2, 4, 1));
  EXPECT_EQ(tiles.computed(33), 48);
  EXPECT_EQ(tiles.computed(49), 64);
}

TEST(TailBody, IsAScheduleThatCanBeCompiled) {
  const Variant plain("plain");
  for (const TailBody& tail : Bodies(schedule_of(8, 3, 4, 2)).tails)
    EXPECT_NO_THROW(check(tail.schedule, plain, Element::F16, 64, 64));
  for (const int d_v : {64, 80, 33}) {
    PrefillCpuSchedule s = schedule_of(16, 2, 1, 2);
    s.feature_group = d_v == 33 ? 1 : 8;
    s.feature_unroll = 1;
    for (const TailBody& tail : Bodies(s, d_v).tails)
      EXPECT_NO_THROW(check(tail.schedule, plain, Element::F32, d_v, d_v));
  }
}

// Bodies as Halide lowers them from two pipelines with the same inputs: which of them ran shows in
// the result.
TEST(ChooseBody, TheConditionDecidesAndNamesAreMatched) {
  const Halide::Target target = Halide::get_jit_target_from_environment()
                                    .with_feature(Halide::Target::NoAsserts)
                                    .with_feature(Halide::Target::NoBoundsQuery);
  Halide::ImageParam in(Halide::Int(32), 1, "in");
  const auto lowered = [&](int added) {
    const Halide::Var x("x");
    Halide::Func out("out");
    out(x) = in(x) + added;
    return out.compile_to_module({in}, "chosen", target).get_function_by_name("chosen");
  };
  const ir::LoweredFunc usual = lowered(1), other = lowered(2);
  ASSERT_NE(usual.args.back().name, other.args.back().name);
  const ir::LoweredFunc both = choose_body(usual, argument_extent("in", 0) <= 3, other);
  ASSERT_EQ(both.args.size(), usual.args.size());

  Halide::Module module("chosen", target);
  module.append(both);
  const ir::JITModule jit(module, both);
  const auto run = reinterpret_cast<int (*)(const void* const*)>(jit.argv_function());
  for (const int extent : {3, 4}) {
    Halide::Buffer<int> values(extent), result(extent);
    values.fill(10);
    const halide_buffer_t *a = values.raw_buffer(), *b = result.raw_buffer();
    const void* const arguments[] = {a, b};
    ASSERT_EQ(run(arguments), 0);
    EXPECT_EQ(result(extent - 1), extent <= 3 ? 12 : 11);
  }
}

}  // namespace
}  // namespace fovea
