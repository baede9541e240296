// bank_test.cpp: reported faults of other attention libraries, each as its smallest input.
//
// Where a row says "uniform", queries are zero and key j holds the value j + 1 in every feature, so
// an output row is the mean of the visible key numbers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/comparison.h"

namespace fovea::test {
namespace {

constexpr double empty = -1;  // a row without visible keys: 0, LSE -infinity

struct UniformRow {
  const char* report;
  const char* variant;
  int64_t q_rows, kv_rows;
  std::vector<std::pair<const char*, double>> scalars;
  std::vector<double> mean;  // of each row
};

const UniformRow uniform_rows[] = {
    {"causal, more queries than keys", "causal", 5, 2, {}, {empty, empty, empty, 1, 1.5}},
    {"causal, one query", "causal", 1, 8, {}, {4.5}},
    {"full, fewer queries than keys", "full", 4, 8, {}, {4.5, 4.5, 4.5, 4.5}},
    {"full, one key more than fits a vector", "full", 1, 5, {}, {3}},
    {"full, one key less than a block", "full", 1, 63, {}, {32}},
    {"full, one key more than a block", "full", 1, 65, {}, {33}},
    {"full, one key less than two blocks", "full", 1, 127, {}, {64}},
    {"full, one key more than two blocks", "full", 1, 129, {}, {65}},
    {"window of two tokens", "causal_window", 4, 4, {{"window", 2}}, {1, 1.5, 2.5, 3.5}},
    {"window, one new token", "causal_window", 1, 4, {{"window", 2}}, {3.5}},
    {"window without neighbours",
     "test_two_sided",
     4,
     4,
     {{"left", 0}, {"right", 0}},
     {1, 2, 3, 4}},
    {"two-sided window past the keys",
     "test_two_sided",
     8,
     3,
     {{"left", 1}, {"right", 2}},
     {empty, empty, empty, 1, 1.5, 2, 2, 2.5}},
    {"a token both global and in the window counts once",
     "global_window",
     6,
     6,
     {{"window", 2}, {"global", 1}},
     {1, 1.5, 2, 8.0 / 3, 10.0 / 3, 4}},
};

class Bank : public KernelTest {
 protected:
  CallSetup setup_of(int64_t q_rows, int64_t kv_rows, int64_t heads = 1, int64_t kv_heads = 1) {
    count_case();
    CallSetup setup = plain_setup(q_rows, kv_rows, heads, kv_heads);
    setup.wants_lse = (GetParam().variant().outputs & FOVEA_OUTPUT_LSE) != 0;
    return setup;
  }
};

// The kernels a row applies to: one variant, or a few.
std::vector<TestKernel> kernels_for(std::initializer_list<const char*> variants) {
  return kernels_where([&](const TestKernel& k) {
    return (k.info().d_qk == 64 || k.info().d_qk == 1) &&
           std::find(variants.begin(), variants.end(), k.variant_name()) != variants.end();
  });
}

class FullBank : public Bank {};
FOVEA_FOR_KERNELS(FullBank, kernels_for({"full"}));
class CausalBank : public Bank {};
FOVEA_FOR_KERNELS(CausalBank, kernels_for({"causal"}));
class SoftcapBank : public Bank {};
FOVEA_FOR_KERNELS(SoftcapBank, kernels_for({"softcapped_window"}));
class AlibiBank : public Bank {};
FOVEA_FOR_KERNELS(AlibiBank, kernels_for({"alibi_causal"}));
class KeyBiasBank : public Bank {};
FOVEA_FOR_KERNELS(KeyBiasBank, kernels_for({"test_key_bias"}));
class DenseMaskBank : public Bank {};
FOVEA_FOR_KERNELS(DenseMaskBank, kernels_for({"test_dense_mask"}));
class FullBiasBank : public Bank {};
FOVEA_FOR_KERNELS(FullBiasBank, kernels_for({"test_full_bias"}));
class PlainBank : public Bank {};
FOVEA_FOR_KERNELS(PlainBank, kernels_for({"full", "causal"}));
class UniformBank : public Bank {};
FOVEA_FOR_KERNELS(UniformBank, kernels_where([](const TestKernel& k) {
                    return (k.info().d_qk == 64 || k.info().d_qk == 1) &&
                           std::any_of(std::begin(uniform_rows), std::end(uniform_rows),
                                       [&](const UniformRow& row) {
                                         return k.variant_name() == row.variant;
                                       });
                  }));

double key_number(int64_t, int64_t, int64_t row, int64_t) { return static_cast<double>(row + 1); }

TEST_P(UniformBank, Rows) {
  for (const UniformRow& row : uniform_rows) {
    if (GetParam().variant_name() != row.variant) continue;
    const CallSetup setup = setup_of(row.q_rows, row.kv_rows);
    Problem problem(GetParam(), setup);
    problem.fill_v(key_number);
    for (const auto& [name, value] : row.scalars) problem.params.set(name, value);
    const Results got = problem.checked_run();
    for (int64_t i = 0; i < row.q_rows; ++i) {
      const double mean = row.mean[static_cast<size_t>(i)];
      EXPECT_EQ(got.at(0, 0, i), mean == empty ? 0.0f : static_cast<float>(mean))
          << row.report << ", row " << i;
      if (mean == empty && setup.wants_lse) {
        EXPECT_EQ(got.lse[static_cast<size_t>(i)], -INFINITY);
      }
    }
  }
}

TEST_P(FullBank, LogitsBelowAnySentinel) {
  CallSetup setup = setup_of(1, 2);
  setup.scale = 1.0f;
  Problem problem(GetParam(), setup);
  problem.fill_q([](int64_t, int64_t, int64_t, int64_t d) { return d == 0; });
  problem.fill_k([](int64_t, int64_t, int64_t, int64_t d) { return d == 0 ? -100000.0 : 0.0; });
  problem.fill_v([](int64_t, int64_t, int64_t row, int64_t) { return row == 0 ? 1.0 : 3.0; });
  const Results got = problem.checked_run();
  EXPECT_EQ(got.at(0, 0, 0), 2.0f);
  EXPECT_NEAR(got.lse[0], -99999.307, 0.02);  // two units in the last place
}

TEST_P(KeyBiasBank, FullyMaskedFirstBlock) {
  for (const int64_t hidden : {64, 128, 192, 129}) {
    Problem problem(GetParam(), setup_of(5, 200));
    std::vector<double> visible(200), bias(200, -3.0);
    for (size_t k = 0; k < visible.size(); ++k) visible[k] = static_cast<int64_t>(k) >= hidden;
    problem.params.set_table("visible", {200}, visible);
    problem.params.set_table("bias", {200}, bias);
    problem.fill_v([=](int64_t, int64_t, int64_t row, int64_t) {
      return row >= hidden ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    });
    const Results got = problem.checked_run();
    for (const float x : got.out) ASSERT_EQ(x, 1.0f) << hidden;
  }
}

TEST_P(FullBank, TailKeysWeighNothing) {
  for (const int64_t keys : {1, 33, 63, 65, 127, 129}) {
    CallSetup setup = setup_of(3, keys);
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t d) { return d == 0; });
    problem.fill_k([](int64_t, int64_t, int64_t, int64_t d) { return d == 0 ? -5.0 : 0.0; });
    problem.fill_v([](int64_t, int64_t, int64_t, int64_t) { return 1.0; });
    for (const float x : problem.checked_run().out) ASSERT_EQ(x, 1.0f) << keys;
  }
}

TEST_P(SoftcapBank, SoftcapSaturates) {
  struct Case {
    double cap, first, second, weight_of_first;
  };
  for (const Case& c : {Case{30, 1e4, 0, 1}, Case{30, 0, 1e4, 0}, Case{30, 1e8, -1e8, 1},
                        Case{2, 2, 0, 1 / (1 + std::exp(-2 * std::tanh(1.0)))}}) {
    CallSetup setup = setup_of(1, 2);
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup);
    problem.params.set("softcap", c.cap);
    problem.params.set("window", 10);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t d) { return d == 0; });
    problem.fill_k([&](int64_t, int64_t, int64_t row, int64_t d) {
      return d != 0 ? 0.0 : row == 0 ? c.first : c.second;
    });
    problem.fill_v([](int64_t, int64_t, int64_t row, int64_t) { return row == 0 ? 2.0 : 5.0; });
    EXPECT_NEAR(problem.checked_run().at(0, 0, 0), 5 - 3 * c.weight_of_first, 1e-6) << c.cap;
  }
}

// The mask comes after the cap: nothing of a hidden key leaks in, however small the cap.
TEST_P(SoftcapBank, SoftcapDoesNotLeak) {
  for (const double cap : {50.0, 1.0, 0.01}) {
    Random random("softcap", 0);
    Problem problem(GetParam(), setup_of(2, 2), random);
    problem.params.set("softcap", cap);
    problem.params.set("window", 10);
    const Results got = problem.checked_run();
    for (int64_t d = 0; d < got.d_v; ++d) ASSERT_EQ(got.at(0, 0, 0, d), problem.v.at(0, 0, 0, d));
  }
}

TEST_P(AlibiBank, AlibiCountsFromThePositionOfTheQuery) {
  for (const int64_t rows : {5, 1}) {  // a full pass, and its last row alone
    Problem problem(GetParam(), setup_of(rows, 5));
    problem.params.set_table("slope", {1}, {0.5});
    problem.fill_v(key_number);
    EXPECT_NEAR(problem.checked_run().at(0, 0, rows - 1), 3.9056, 1e-4);
  }
}

TEST_P(FullBank, KvHeadsRepeatTheyDoNotAlternate) {
  Problem problem(GetParam(), setup_of(2, 3, 4, 2));
  problem.fill_v([](int64_t, int64_t h, int64_t, int64_t) { return h == 0 ? 10.0 : 20.0; });
  const Results got = problem.checked_run();
  for (int64_t h = 0; h < 4; ++h) EXPECT_EQ(got.at(0, h, 0), h < 2 ? 10.0f : 20.0f) << h;
}

TEST_P(DenseMaskBank, DenseMasks) {
  {  // visible in the top left corner only
    Random random("corner", 0);
    Problem problem(GetParam(), setup_of(8, 8), random);
    std::vector<double> keep(64);
    for (size_t i = 0; i < 64; ++i) keep[i] = i / 8 < 4 && i % 8 < 4;
    problem.params.set_table("keep", {8, 8}, keep);
    expect_accurate(problem);
    const Results got = problem.results();
    for (int64_t i = 4; i < 8; ++i) {
      EXPECT_EQ(got.lse[static_cast<size_t>(i)], -INFINITY);
      for (int64_t d = 0; d < got.d_v; ++d) ASSERT_EQ(got.at(0, 0, i, d), 0.0f);
    }
  }
  {  // causal and holes: keys 0, 3, 4, 6 never count, row 0 is empty
    CallSetup setup = setup_of(7, 7, 13, 13);
    Problem problem(GetParam(), setup);
    std::vector<double> keep(49);
    const double holes[] = {0, 1, 1, 0, 0, 1, 0};
    for (size_t i = 0; i < 49; ++i) keep[i] = i % 7 <= i / 7 ? holes[i % 7] : 0;
    problem.params.set_table("keep", {7, 7}, keep);
    problem.fill_v(key_number);
    const Results got = problem.checked_run();
    const float mean[] = {0, 2, 2.5, 2.5, 2.5, 11.0f / 3, 11.0f / 3};
    for (int64_t h = 0; h < 13; ++h) {
      for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(got.at(0, h, i), mean[i]) << h << " " << i;
    }
  }
}

// One plane of a bias for all heads, another one for the second sequence.
TEST_P(FullBiasBank, BiasPlanesBelongToTheirSequence) {
  CallSetup setup = setup_of(2, 2, 2, 2);
  setup.batch = 2;
  Problem problem(GetParam(), setup);
  std::vector<double> bias;
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 2; ++h)
      for (int q = 0; q < 2; ++q)
        for (int k = 0; k < 2; ++k) bias.push_back(k == b ? 0 : -1e4);
  problem.params.set_table("bias", {2, 2, 2, 2}, bias);
  problem.fill_v(key_number);
  const Results got = problem.checked_run();
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t h = 0; h < 2; ++h)
      for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(got.at(b, h, i), static_cast<float>(b + 1));
}

TEST_P(PlainBank, ZeroLengths) {
  {  // no keys at all
    Problem problem(GetParam(), setup_of(4, 0, 9, 3));
    const Results got = problem.checked_run();
    for (const float x : got.out) ASSERT_EQ(x, 0.0f);
    for (const float x : got.lse) ASSERT_EQ(x, -INFINITY);
  }
  for (const CallSetup& nothing : {setup_of(0, 7), setup_of(0, 0)}) {
    Problem problem(GetParam(), nothing);
    EXPECT_EQ(problem.run(), FOVEA_OK) << fovea_last_message();
  }
  CallSetup setup = setup_of(1, 5, 9, 3);
  setup.batch = 3;
  setup.q_len = {1, 0, 1};
  setup.kv_len = {3, 0, 5};
  Random random("zero lengths", 0);
  Problem problem(GetParam(), setup, random);
  expect_accurate(problem);
}

TEST_P(FullBank, LseIsANaturalLogarithm) {
  Problem problem(GetParam(), setup_of(1, 4));
  EXPECT_NEAR(problem.checked_run().lse[0], std::log(4.0), 2e-7);
}

TEST_P(CausalBank, UnevenBatch) {
  CallSetup setup = setup_of(1500, 1500);
  setup.batch = 2;
  setup.threads = 3;
  setup.q_len = setup.kv_len = {35, 1500};
  Random random("uneven", 0);
  Problem problem(GetParam(), setup, random);
  expect_accurate(problem, nullptr, 97);
}

// A mask given as a formula and as a table.
TEST_P(DenseMaskBank, FormulaAndTableAgree) {
  Random random("formula", 0);
  const int64_t rows = 130;
  Problem table(GetParam(), setup_of(rows, rows), random);
  std::vector<double> keep(static_cast<size_t>(rows * rows));
  for (size_t i = 0; i < keep.size(); ++i)
    keep[i] = i % static_cast<size_t>(rows) <= i / static_cast<size_t>(rows);
  table.params.set_table("keep", {rows, rows}, keep);
  for (const TestKernel& causal :
       kernels_of("causal", GetParam().info().d_qk, GetParam().info().d_v)) {
    if (causal.info().target != GetParam().info().target) continue;
    Problem formula(causal, setup_of(rows, rows));
    const auto copy_of = [](const StridedTensor& t) {
      return [&t](int64_t b, int64_t h, int64_t i, int64_t d) { return t.at(b, h, i, d); };
    };
    formula.fill_q(copy_of(table.q));
    formula.fill_k(copy_of(table.k));
    formula.fill_v(copy_of(table.v));
    EXPECT_EQ(compare(table.checked_run(), expected_results(formula)), "");
    EXPECT_EQ(compare(formula.checked_run(), expected_results(table)), "");
  }
}

}  // namespace
}  // namespace fovea::test
