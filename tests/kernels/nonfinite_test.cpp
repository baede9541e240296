// nonfinite_test.cpp: NaN, infinity and huge numbers reach the rows that see them, and no others.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/reference.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/comparison.h"
#include "tests/support/invariance.h"
#include "tests/support/table_entries.h"
#include "tests/support/visibility.h"

namespace fovea::test {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

constexpr float poisons[] = {nan, inf, -inf, 1e29f};

constexpr int64_t few_products = 200000;

// Which rows of a call may see the poison.
using Reach = std::vector<char>;  // [B, Hq, Sq]

class NonFinite : public KernelTest {
 protected:
  // A small call of any kind; its tensors and tables share no element between rows.
  CallSetup draw_setup(Random& random) const {
    CallSetup setup = random_setup(GetParam(), random, few_products);
    setup.q.shared = setup.k.shared = setup.v.shared = {};
    want_all_outputs(setup, GetParam());
    return setup;
  }

  static Reach nobody(const Problem& problem) {
    const CallSetup& s = problem.setup();
    return Reach(static_cast<size_t>(s.batch * s.heads * s.q_rows), 0);
  }
  // The rows that see key k of KV head kh of sequence b.
  static Reach that_see(const Problem& problem, int64_t b, int64_t kh, int64_t k) {
    const CallSetup& s = problem.setup();
    Reach reach = nobody(problem);
    const int64_t group = s.heads / s.kv_heads;
    for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
      for (int64_t i = 0; i < s.q_len_of(b); ++i) {
        const std::vector<char> seen = visible_keys(problem, b, h, i, s.kv_len_of(b));
        reach[static_cast<size_t>((b * s.heads + h) * s.q_rows + i)] = seen[static_cast<size_t>(k)];
      }
    }
    return reach;
  }

  // The rows in which key k of KV head kh of sequence b has a weight near or below the smallest
  // normal number.
  static Reach where_faint(const Problem& problem, int64_t b, int64_t kh, int64_t k) {
    Problem probe(problem, problem.setup());
    probe.fill_v([=](int64_t at_b, int64_t at_kh, int64_t row, int64_t) {
      return at_b == b && at_kh == kh && row == k ? 1.0 : 0.0;
    });
    const Expected weights = expected_results(probe);
    Reach faint = nobody(problem);
    const auto d_v = weights.out.size() / std::max<size_t>(faint.size(), 1);
    for (size_t row = 0; row < faint.size(); ++row) {
      for (size_t i = row * d_v; i < (row + 1) * d_v; ++i) {
        if (std::abs(weights.out[i]) < 0x1p-110) faint[row] = 1;
      }
    }
    return faint;
  }

  // Each poison in one element. Rows outside of its reach keep their bits. The others are as the
  // reference says: NaN and infinity in the same places, numbers within the accuracy rule.
  // In `faint` rows a weight is so small that generated code counts it as 0, and 0 times infinity
  // is NaN, which output steps may spread over the row.
  static void expect_reach(Problem& problem, const Results& clean, const StoredElement& element,
                           const Reach& reach, const Reach& faint = {}) {
    const float before = element;
    const Variant& variant = problem.kernel().declaration();
    const bool may_drop = may_drop_nan_of_rows(variant), spreads = !variant.output_steps().empty();
    for (const float poison : poisons) {
      count_case();
      element = poison;
      Results got = problem.checked_run();
      const auto d_v = static_cast<size_t>(got.d_v);
      for (size_t row = 0; row < reach.size(); ++row) {
        if (reach[row] != 0) continue;
        ASSERT_EQ(std::memcmp(&got.out[row * d_v], &clean.out[row * d_v], d_v * sizeof(float)), 0)
            << poison << " changed row " << row << " of " << problem.text();
        for (const auto output :
             {&Results::lse, &Results::row_max, &Results::row_sum, &Results::probabilities}) {
          const size_t width = (got.*output).size() / reach.size();
          ASSERT_TRUE(width == 0 || std::memcmp(&(got.*output)[row * width],
                                                &(clean.*output)[row * width], width * 4) == 0)
              << poison << " changed what row " << row << " returns of " << problem.text();
        }
      }
      // What a huge number does within its reach is a matter of overflow.
      if (!std::isfinite(poison) && !may_drop) {
        const Expected expected = expected_results(problem);
        for (size_t i = 0; !faint.empty() && i < got.out.size(); ++i) {
          if (faint[i / d_v] != 0 && std::isnan(got.out[i]) &&
              (spreads || std::isinf(expected.out[i])))
            got.out[i] = static_cast<float>(expected.out[i]);
        }
        EXPECT_EQ(compare(got, expected), "") << poison << " in " << problem.text();
      }
      if (HasFailure()) break;
    }
    element = before;
  }
};
FOVEA_FOR_KERNELS(NonFinite,
                  kernels_where([](const TestKernel& k) { return k.info().d_qk <= 64; }));

TEST_P(NonFinite, InKeysAndValuesReachesTheRowsThatSeeIt) {
  for (int i = 0; i < 3 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 500);
    const CallSetup setup = draw_setup(random);
    Problem problem(GetParam(), setup, random);
    const int64_t b = random.integer(0, setup.batch - 1);
    if (setup.q_len_of(b) == 0 || setup.kv_len_of(b) == 0) continue;
    const Results clean = problem.checked_run();
    const int64_t kh = random.integer(0, setup.kv_heads - 1);
    for (const StridedTensor* t : {&problem.k, &problem.v}) {
      const int64_t key = random.integer(0, setup.kv_len_of(b) - 1);
      const StoredElement element = t->at(b, kh, key, random.integer(0, t->view().extent[3] - 1));
      expect_reach(problem, clean, element, that_see(problem, b, kh, key),
                   where_faint(problem, b, kh, key));
    }
  }
}

TEST_P(NonFinite, InAQueryReachesItsOwnRow) {
  for (int i = 0; i < 2 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 520);
    const CallSetup setup = draw_setup(random);
    Problem problem(GetParam(), setup, random);
    const int64_t b = random.integer(0, setup.batch - 1);
    if (setup.q_len_of(b) == 0) continue;
    const Results clean = problem.checked_run();
    const int64_t h = random.integer(0, setup.heads - 1);
    const int64_t row = random.integer(0, setup.q_len_of(b) - 1);
    Reach reach = nobody(problem);
    reach[static_cast<size_t>((b * setup.heads + h) * setup.q_rows + row)] = 1;
    const StoredElement element =
        problem.q.at(b, h, row, random.integer(0, GetParam().info().d_qk - 1));
    expect_reach(problem, clean, element, reach);
  }
}

// Keys and values hidden from every row, all of them poisoned at once.
TEST_P(NonFinite, InHiddenKeysReachesNobody) {
  for (int i = 0; i < 3 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 540);
    const CallSetup setup = draw_setup(random);
    Problem problem(GetParam(), setup, random);
    const Results clean = problem.checked_run();
    std::vector<std::array<int64_t, 3>> hidden;
    for (int64_t b = 0; b < setup.batch; ++b) {
      const int64_t group = setup.heads / setup.kv_heads;
      std::vector<char> seen;
      for (int64_t kh = 0; kh < setup.kv_heads; ++kh) {
        seen.assign(static_cast<size_t>(setup.kv_len_of(b)), 0);
        for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
          for (int64_t row = 0; row < setup.q_len_of(b); ++row) {
            const std::vector<char> keys = visible_keys(problem, b, h, row, setup.kv_len_of(b));
            for (size_t k = 0; k < keys.size(); ++k) seen[k] = static_cast<char>(seen[k] | keys[k]);
          }
        }
        for (size_t k = 0; k < seen.size(); ++k) {
          if (seen[k] == 0) hidden.push_back({b, kh, static_cast<int64_t>(k)});
        }
      }
    }
    if (hidden.empty()) continue;
    for (const float poison : poisons) {
      count_case();
      for (const auto& [b, kh, k] : hidden) {
        for (const StridedTensor* t : {&problem.k, &problem.v}) {
          for (int64_t d = 0; d < t->view().extent[3]; ++d) t->at(b, kh, k, d) = poison;
        }
      }
      ASSERT_EQ(bit_difference(problem.checked_run(), clean), "")
          << poison << " in " << hidden.size() << " hidden keys of " << problem.text();
    }
  }
}

// A table that holds floats.
class NonFiniteTable : public NonFinite {};
FOVEA_FOR_KERNELS(NonFiniteTable, kernels_where([](const TestKernel& k) {
                    if (k.info().d_qk > 64) return false;
                    for (int32_t i = 0; i < k.variant().parameter_count; ++i) {
                      const fovea_parameter_info& p = k.variant().parameters[i];
                      if (p.kind == FOVEA_TABLE && p.dtype == FOVEA_F32) return true;
                    }
                    return false;
                  }));

// Which rows read an entry follows from the reference: those that a NaN in it changes.
TEST_P(NonFiniteTable, ReachesTheRowsThatReadIt) {
  const Variant& variant = GetParam().declaration();
  for (int i = 0; i < 2 && !HasFailure(); ++i) {
    Random random(GetParam().info().name, static_cast<uint64_t>(i) + 560);
    CallSetup setup = draw_setup(random);
    // Scores so near each other that no weight is faint: tables may scale values.
    setup.spread = 0.25f;
    setup.scale = 1.0f;
    Problem problem(GetParam(), setup, random);
    const Results clean = problem.checked_run();
    const ParameterValues values = parameter_values(variant, problem.params.data());
    for (const auto& parameter : variant.parameters()) {
      if (parameter->kind != Parameter::Kind::Table || !parameter->type.is_float()) continue;
      const fovea_table& table = values.at(parameter->name).table;
      std::vector<int64_t> index;
      for (size_t axis = 0; axis < parameter->axes.size(); ++axis) {
        index.push_back(table.extent[axis] == 0 ? -1 : random.integer(0, table.extent[axis] - 1));
      }
      if (std::count(index.begin(), index.end(), -1) != 0) continue;
      const StoredElement element = float_entry(*parameter, table, index);
      const float before = element;
      element = nan;
      const Expected poisoned = expected_results(problem);
      element = before;
      Reach reach = nobody(problem);
      for (const std::vector<double>* output : {&poisoned.out, &poisoned.lse, &poisoned.row_max,
                                                &poisoned.row_sum, &poisoned.probabilities}) {
        const size_t width = output->size() / reach.size();
        for (size_t at = 0; at < output->size(); ++at) {
          if (std::isnan((*output)[at])) reach[at / width] = 1;
        }
      }
      // Where NaN may get lost the reference does not show who reads the entry.
      if (!may_drop_nan(variant)) expect_reach(problem, clean, element, reach);
    }
  }
}

class NonFiniteFormula : public KernelTest {};
FOVEA_FOR_KERNELS(NonFiniteFormula, kernels_where([](const TestKernel& k) {
                    return !k.has_score_steps() && k.info().d_qk <= 64;
                  }));

// A weight that underflows to 0 does not take a NaN value out of the row: 0 * NaN.
TEST_P(NonFiniteFormula, ZeroWeightKeepsANanValue) {
  for (const int64_t key : {0, 5, 63, 64, 129, 289}) {
    count_case();
    Random random("zero weight", static_cast<uint64_t>(key));
    CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 290);
    setup.scale = 1.0f;
    want_all_outputs(setup, GetParam());
    Problem problem(GetParam(), setup, random);
    problem.fill_q([](int64_t, int64_t, int64_t, int64_t) { return 1.0; });
    problem.fill_k([&](int64_t, int64_t, int64_t row, int64_t) { return row == key ? -900 : 0; });
    problem.v.at(0, 0, key, 0) = nan;
    EXPECT_EQ(compare(problem.checked_run(), expected_results(problem)), "") << problem.text();
  }
}

// Scores of minus infinity weigh nothing; one of plus infinity, or two infinities that meet, is
// NaN; an infinite value is infinite.
TEST_P(NonFiniteFormula, InfinitiesFollowTheFormula) {
  struct Case {
    float query, key, value;
  };
  for (const Case& c : {Case{1, -inf, 1}, Case{1, inf, 1}, Case{-inf, 1, 1}, Case{inf, 1, 1},
                        Case{0, inf, 1}, Case{1, 1, inf}, Case{1, 1, -inf}, Case{1, nan, 1}}) {
    for (const int64_t key : {0, 40, 100, 289}) {
      count_case();
      Random random("infinities", static_cast<uint64_t>(key));
      CallSetup setup = plain_setup(GetParam().info().block_rows + 1, 290);
      want_all_outputs(setup, GetParam());
      Problem problem(GetParam(), setup, random);
      problem.fill_q([&](int64_t, int64_t, int64_t row, int64_t d) {
        return d != 0 ? 0.0 : row == 1 ? static_cast<double>(c.query) : 1.0;
      });
      problem.k.at(0, 0, key, 0) = c.key;
      problem.v.at(0, 0, key, 0) = c.value;
      EXPECT_EQ(compare(problem.checked_run(), expected_results(problem)), "")
          << c.query << " " << c.key << " " << c.value << " at " << key << ": " << problem.text();
    }
  }
}

}  // namespace
}  // namespace fovea::test
