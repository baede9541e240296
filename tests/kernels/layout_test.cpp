// layout_test.cpp: a call gives the same bits wherever and however its numbers lie.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/support/problem.h"

namespace fovea::test {
namespace {

class LayoutOf : public KernelTest {
 protected:
  // Numbers in the plain layout; every other layout holds copies of them.
  void start(int64_t q_rows, int64_t kv_rows, int64_t batch, int64_t heads, int64_t kv_heads) {
    CallSetup setup = plain_setup(q_rows, kv_rows, heads, kv_heads);
    setup.batch = batch;
    want_all_outputs(setup, GetParam());
    Random random(GetParam().info().name, 77);
    base_ = std::make_unique<Problem>(GetParam(), setup, random);
    expected_ = base_->checked_run();
  }
  void expect_same(const CallSetup& setup) {
    count_case();
    Problem problem(*base_, setup);
    Results got = problem.checked_run();
    for (const auto output :
         {&Results::lse, &Results::row_max, &Results::row_sum, &Results::probabilities}) {
      if ((got.*output).empty()) got.*output = expected_.*output;  // not wanted
    }
    EXPECT_EQ(bit_difference(got, expected_), "") << problem.text();
  }

  std::unique_ptr<Problem> base_;
  Results expected_;
};
FOVEA_FOR_KERNELS(LayoutOf, all_kernels());

TEST_P(LayoutOf, GivesTheSameBits) {
  const int64_t rows = GetParam().info().block_rows + 3;
  start(rows, rows, 2, 4, 2);
  CallSetup setup = base_->setup();
  setup.q = setup.k = setup.v = setup.out = setup.lse = bshd();
  expect_same(setup);
  setup.packed = GetParam().info().d_qk == GetParam().info().d_v;
  for (const Edge edge : {Edge::Start, Edge::End}) {
    setup.q.edge = edge;
    expect_same(setup);
  }
  // Any alignment that the element itself allows.
  setup.packed = false;
  for (int64_t distance = 1; distance < 16; ++distance) {
    setup.q.distance = distance;
    setup.k.distance = 16 - distance;
    setup.v.distance = (3 * distance) % 16;
    setup.out.distance = (5 * distance) % 16;
    setup.lse.distance = (7 * distance) % 16;
    for (Layout* layout : {&setup.q, &setup.k, &setup.v, &setup.out, &setup.lse})
      layout->edge = distance % 2 == 0 ? Edge::Start : Edge::End;
    expect_same(setup);
  }
  Random random(GetParam().info().name, 78);
  for (int i = 0; i < 20; ++i) {
    setup.q = random_layout(random, false);
    setup.k = random_layout(random, false);
    setup.v = random_layout(random, false);
    setup.out = random_layout(random, false);
    for (Layout* layout : {&setup.lse, &setup.row_max, &setup.row_sum, &setup.probabilities})
      *layout = random_layout(random, false);
    want_all_outputs(setup, GetParam());
    if (i % 3 == 0) {
      setup.wants_lse = setup.wants_row_max = setup.wants_row_sum = false;
      setup.wants_probabilities = false;
    }
    setup.workspace = i % 2 == 0 ? Workspace::Exact : Workspace::None;
    expect_same(setup);
  }
}

// One array for all sequences, heads or rows, against copies of it.
TEST_P(LayoutOf, SharedAxesEqualCopies) {
  for (int axis = 0; axis < 3; ++axis) {
    CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 70, 4, 2);
    setup.batch = 2;
    setup.wants_lse = false;
    setup.q.shared[axis] = axis != 2;
    setup.k.shared[axis] = setup.v.shared[axis] = true;
    Random random(GetParam().info().name, static_cast<uint64_t>(axis));
    Problem shared(GetParam(), setup, random);
    setup.q = setup.k = setup.v = Layout{};
    Problem copies(shared, setup);
    EXPECT_EQ(bit_difference(shared.checked_run(), copies.checked_run()), "") << shared.text();
    count_case();
  }
}

class InPlace : public LayoutOf {};
FOVEA_FOR_KERNELS(InPlace,
                  kernels_where([](const TestKernel& k) { return k.info().d_qk == k.info().d_v; }));

TEST_P(InPlace, OutputMayReplaceTheQueries) {
  start(2 * GetParam().info().block_rows + 1, 70, 2, 4, 2);
  for (const Layout& layout : {bhsd(), bshd()}) {
    CallSetup setup = base_->setup();
    setup.q = layout;
    setup.threads = 2;
    Problem problem(*base_, setup);
    problem.call.out = problem.q.view();
    EXPECT_EQ(bit_difference(problem.checked_run(), expected_), "") << problem.text();
    count_case();
  }
}

}  // namespace
}  // namespace fovea::test
