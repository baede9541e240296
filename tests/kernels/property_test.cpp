// property_test.cpp: relations between calls that hold whatever the numbers are. Those that depend
// on what a variant declares are in relation_test.cpp. SPDX-License-Identifier: Apache-2.0
#include "tests/support/comparison.h"
#include "tests/support/invariance.h"

namespace fovea::test {
namespace {

// A power of two moves between query and scale without rounding.
class ScaleProperty : public KernelTest {};  // other steps would round differently
FOVEA_FOR_KERNELS(ScaleProperty, kernels_where([](const TestKernel& k) {
                    return is_masked_softmax(k.declaration());
                  }));

TEST_P(ScaleProperty, ScaleAndQueryAreOneFactor) {
  Random random(GetParam().info().name, 400);
  CallSetup setup = random_setup(GetParam(), random);
  setup.scale = 0.375f;
  setup.q.shared = {};
  setup.packed = false;
  Problem problem(GetParam(), setup, random);
  setup.scale = 0.1875f;
  Problem other(problem, setup);
  other.fill_q([&](int64_t b, int64_t h, int64_t row, int64_t d) {
    return 2 * static_cast<double>(problem.q.at(b, h, row, d));
  });
  EXPECT_EQ(bit_difference(other.checked_run(), problem.checked_run()), "") << problem.text();
  count_case();
}

// Variants that know neither batch nor lengths; at small head dimensions.
class PlainProperty : public KernelTest {};
FOVEA_FOR_KERNELS(PlainProperty, kernels_where([](const TestKernel& k) {
                    return k.info().d_qk <= 40 &&
                           (k.variant_name() == "full" || k.variant_name() == "causal");
                  }));

// Where positions do not matter.
class FullProperty : public KernelTest {};
FOVEA_FOR_KERNELS(FullProperty, kernels_where([](const TestKernel& k) {
                    return k.variant_name() == "full" && k.info().d_qk <= 40;
                  }));

TEST_P(PlainProperty, ABatchIsItsSequences) {
  Random random(GetParam().info().name, 0);
  CallSetup setup = plain_setup(2 * GetParam().info().block_rows + 1, 140, 4, 2);
  setup.batch = 3;
  setup.q_len = {1, static_cast<int32_t>(setup.q_rows), 0};
  setup.kv_len = {140, 65, 7};
  Problem batch(GetParam(), setup, random);
  const Results together = batch.checked_run();
  for (int64_t b = 0; b < 3; ++b) {
    count_case();
    CallSetup one = plain_setup(setup.q_len_of(b), setup.kv_len_of(b), 4, 2);
    Problem alone(GetParam(), one);
    alone.fill_q([&](int64_t, int64_t h, int64_t i, int64_t d) { return batch.q.at(b, h, i, d); });
    alone.fill_k([&](int64_t, int64_t h, int64_t i, int64_t d) { return batch.k.at(b, h, i, d); });
    alone.fill_v([&](int64_t, int64_t h, int64_t i, int64_t d) { return batch.v.at(b, h, i, d); });
    const Results single = alone.checked_run();
    for (int64_t h = 0; h < 4; ++h) {
      for (int64_t i = 0; i < one.q_rows; ++i) {
        ASSERT_EQ(single.at(0, h, i), together.at(b, h, i)) << b << " " << h << " " << i;
      }
    }
  }
}

TEST_P(PlainProperty, GroupedHeadsEqualRepeatedOnes) {
  if (GetParam().decodes()) GTEST_SKIP() << same_code_for_every_row;
  for (const int64_t ratio : {2, 4, 8}) {
    count_case();
    Random random(GetParam().info().name, static_cast<uint64_t>(ratio));
    CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 70, 2 * ratio, 2);
    Problem grouped(GetParam(), setup, random);
    setup.kv_heads = 2 * ratio;
    Problem repeated(GetParam(), setup);
    const auto from = [](const StridedTensor& t, int64_t own_ratio) {
      return [&t, own_ratio](int64_t b, int64_t h, int64_t row, int64_t d) {
        return static_cast<double>(t.at(b, h / own_ratio, row, d));
      };
    };
    repeated.fill_q(from(grouped.q, 1));
    repeated.fill_k(from(grouped.k, ratio));
    repeated.fill_v(from(grouped.v, ratio));
    EXPECT_EQ(bit_difference(repeated.checked_run(), grouped.checked_run()), "");
  }
}

TEST_P(FullProperty, ARowDoesNotDependOnItsNeighbours) {
  if (GetParam().decodes()) GTEST_SKIP() << same_code_for_every_row;
  const int64_t most = 2 * GetParam().info().block_rows + 1;
  Random random(GetParam().info().name, 1);
  Problem all(GetParam(), plain_setup(most, 100), random);
  const Results expected = all.checked_run();
  for (int64_t rows = 1; rows < most; ++rows) {
    count_case();
    Problem some(all, plain_setup(rows, 100));
    Results got = some.checked_run();
    for (int64_t i = 0; i < rows; ++i) ASSERT_EQ(got.at(0, 0, i), expected.at(0, 0, i)) << rows;
  }
}

}  // namespace
}  // namespace fovea::test
