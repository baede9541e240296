// property_test.cpp: relations between calls that hold whatever the numbers are.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

class Property : public KernelTest {};
FOVEA_FOR_KERNELS(Property, all_kernels());

TEST_P(Property, DoubledValuesDoubleTheOutput) {
  for (int i = 0; i < 3; ++i) {
    count_case();
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 300);
    CallSetup setup = random_setup(GetParam(), random);
    setup.v.shared = {};
    Problem problem(GetParam(), setup, random);
    Results once = problem.checked_run();
    Problem doubled(problem, setup);
    doubled.fill_v([&](int64_t b, int64_t h, int64_t row, int64_t d) {
      return 2.0 * static_cast<double>(problem.v.at(b, h, row, d));
    });
    const Results twice = doubled.checked_run();
    for (size_t row = 0; row < once.out.size(); ++row) {
      if (!std::isnan(once.out[row])) once.out[row] *= 2;
    }
    EXPECT_EQ(bit_difference(twice, once), "") << problem.text();
  }
}

// A power of two moves between query and scale without rounding.
class ScaleProperty : public KernelTest {};  // score steps would round differently
FOVEA_FOR_KERNELS(ScaleProperty,
                  kernels_where([](const TestKernel& k) { return !k.has_score_steps(); }));

TEST_P(ScaleProperty, ScaleAndQueryAreOneFactor) {
  Random random(GetParam().info().name, 400);
  CallSetup setup = random_setup(GetParam(), random);
  setup.scale = 0.375f;
  setup.q.shared = {};
  setup.packed = false;
  Problem problem(GetParam(), setup, random);
  setup.scale = 0.75f;
  Problem other(problem, setup);
  other.fill_q([&](int64_t b, int64_t h, int64_t row, int64_t d) {
    return 0.5 * static_cast<double>(problem.q.at(b, h, row, d));
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

// Keys past a length, or hidden from every row by a mask, change no bit.
TEST_P(PlainProperty, HiddenKeysAddNothing) {
  for (const int64_t keys : {1, 63, 64, 65, 128, 130}) {
    count_case();
    Random random(GetParam().info().name, static_cast<uint64_t>(keys));
    CallSetup setup = plain_setup(std::min<int64_t>(keys, GetParam().info().block_rows + 1), keys);
    setup.q_offset = {static_cast<int32_t>(keys - setup.q_rows)};
    Problem bare(GetParam(), setup, random);
    const Results expected = bare.checked_run();
    CallSetup longer = setup;
    longer.kv_rows = keys + 150;
    if (GetParam().variant_name() == "full") longer.kv_len = {static_cast<int32_t>(keys)};
    Problem extended(GetParam(), longer);
    const auto beyond = [keys](const StridedTensor& t) {
      return [&t, keys](int64_t b, int64_t h, int64_t row, int64_t d) {
        return row < keys ? static_cast<double>(t.at(b, h, row, d)) : 1e30;
      };
    };
    extended.fill_q(beyond(bare.q));
    extended.fill_k(beyond(bare.k));
    extended.fill_v(beyond(bare.v));
    EXPECT_EQ(bit_difference(extended.checked_run(), expected), "") << extended.text();
  }
}

TEST_P(FullProperty, ARowDoesNotDependOnItsNeighbours) {
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

TEST_P(FullProperty, TheOrderOfKeysDoesNotMatter) {
  for (uint64_t i = 0; i < 4; ++i) {
    count_case();
    Random random(GetParam().info().name, i);
    const CallSetup setup = plain_setup(GetParam().info().block_rows, 150);
    Problem sorted(GetParam(), setup, random);
    std::vector<int64_t> order(150);
    std::iota(order.begin(), order.end(), 0);
    for (size_t j = order.size() - 1; j > 0; --j) {
      std::swap(order[j], order[static_cast<size_t>(random.integer(0, static_cast<int64_t>(j)))]);
    }
    Problem shuffled(sorted, setup);
    const auto moved = [&order](const StridedTensor& t) {
      return [&](int64_t b, int64_t h, int64_t row, int64_t d) {
        return static_cast<double>(t.at(b, h, order[static_cast<size_t>(row)], d));
      };
    };
    shuffled.fill_k(moved(sorted.k));
    shuffled.fill_v(moved(sorted.v));
    EXPECT_EQ(compare(shuffled.checked_run(), expected_results(sorted)), "");
  }
}

// Two calls over halves of the keys, merged by their LSE, are one call over all.
TEST_P(PlainProperty, PartsMergeByTheirLse) {
  for (const int64_t split : {0, 1, 64, 99}) {
    count_case();
    Random random(GetParam().info().name, static_cast<uint64_t>(split));
    CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 100);
    setup.q_offset = {20};
    Problem whole(GetParam(), setup, random);
    std::vector<Results> parts;
    for (const auto& [first, count] : {std::pair{int64_t{0}, split}, {split, 100 - split}}) {
      CallSetup part = plain_setup(setup.q_rows, count);
      part.q_offset = {static_cast<int32_t>(20 - first)};
      Problem problem(GetParam(), part);
      const int64_t shift = first;
      problem.fill_q(
          [&](int64_t b, int64_t h, int64_t i, int64_t d) { return whole.q.at(b, h, i, d); });
      problem.fill_k([&](int64_t b, int64_t h, int64_t i, int64_t d) {
        return whole.k.at(b, h, i + shift, d);
      });
      problem.fill_v([&](int64_t b, int64_t h, int64_t i, int64_t d) {
        return whole.v.at(b, h, i + shift, d);
      });
      parts.push_back(problem.checked_run());
    }
    Results merged = parts[0];
    for (size_t row = 0; row < merged.lse.size(); ++row) {
      const auto a = static_cast<double>(parts[0].lse[row]);
      const auto b = static_cast<double>(parts[1].lse[row]);
      const double top = std::max(a, b),
                   lse = top + std::log(std::exp(a - top) + std::exp(b - top));
      merged.lse[row] = static_cast<float>(lse);
      for (size_t i = row * static_cast<size_t>(merged.d_v);
           i < (row + 1) * static_cast<size_t>(merged.d_v); ++i) {
        merged.out[i] =
            static_cast<float>(std::exp(a - lse) * static_cast<double>(parts[0].out[i]) +
                               std::exp(b - lse) * static_cast<double>(parts[1].out[i]));
      }
    }
    EXPECT_EQ(compare(merged, expected_results(whole)), "") << whole.text();
  }
}

}  // namespace
}  // namespace fovea::test
