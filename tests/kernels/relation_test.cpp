// relation_test.cpp: relations between calls that follow from the declaration of a variant, over
// every variant that has them.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tests/support/comparison.h"
#include "tests/support/invariance.h"
#include "tests/support/table_entries.h"
#include "tests/support/visibility.h"

namespace fovea::test {
namespace {

// What is asked about a declaration is asked once.
template <typename F>
std::vector<TestKernel> kernels_whose(F&& declaration_holds) {
  std::map<std::string, bool> known;
  return kernels_where([&](const TestKernel& kernel) {
    const auto [it, is_new] = known.emplace(kernel.variant_name(), false);
    if (is_new) it->second = declaration_holds(kernel.declaration());
    return it->second;
  });
}

std::vector<int64_t> shuffled(int64_t count, Random& random) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (size_t j = order.size(); j-- > 1;) {
    std::swap(order[j], order[static_cast<size_t>(random.integer(0, static_cast<int64_t>(j)))]);
  }
  return order;
}

// The place in an order, or the index itself beyond it.
int64_t moved(const std::vector<int64_t>& order, int64_t i) {
  return i < static_cast<int64_t>(order.size()) ? order[static_cast<size_t>(i)] : i;
}

class Relation : public KernelTest {
 protected:
  // One or a few sequences of moderate length.
  CallSetup setup_of(int64_t q_rows, int64_t kv_rows, int64_t heads = 2, int64_t kv_heads = 1) {
    count_case();
    CallSetup setup = plain_setup(q_rows, kv_rows, heads, kv_heads);
    want_all_outputs(setup, GetParam());
    setup.wants_probabilities = false;
    return setup;
  }
  Random random_of(uint64_t number) { return {GetParam().info().name, 2000 + number}; }
};

// Where keys have no position, only rows of their own in the tables.
class KeyOrder : public Relation {};
FOVEA_FOR_KERNELS(KeyOrder,
                  kernels_whose([](const Variant& v) { return stays_when_moving(v, {"k"}); }));

TEST_P(KeyOrder, DoesNotMatter) {
  for (uint64_t i = 0; i < 2 && !HasFailure(); ++i) {
    Random random = random_of(i);
    const CallSetup setup = setup_of(GetParam().info().block_rows, random.integer(2, 170), 1, 1);
    Problem sorted(GetParam(), setup, random);
    const std::vector<int64_t> order = shuffled(setup.kv_rows, random);
    Problem mixed(sorted, setup);
    const auto from = [&order](const StridedTensor& t) {
      return [&](int64_t b, int64_t h, int64_t row, int64_t d) {
        return static_cast<double>(t.at(b, h, moved(order, row), d));
      };
    };
    mixed.fill_k(from(sorted.k));
    mixed.fill_v(from(sorted.v));
    rearrange_tables(sorted, mixed, [&](Axis::Kind kind, int64_t index) {
      return kind == Axis::Kind::Key ? moved(order, index) : index;
    });
    const Expected expected = expected_results(sorted);
    EXPECT_EQ(compare(sorted.checked_run(), expected), "") << sorted.text();
    EXPECT_EQ(compare(mixed.checked_run(), expected), "") << mixed.text();
  }
}

class HeadOrder : public Relation {};
FOVEA_FOR_KERNELS(HeadOrder, kernels_whose([](const Variant& v) {
                    return stays_when_moving(v, {"head"}) && stays_when_moving(v, {"kv_head"});
                  }));

// Groups change places, and heads inside of each group.
TEST_P(HeadOrder, PermutesTheOutput) {
  if (GetParam().decodes()) GTEST_SKIP() << same_code_for_every_row;
  Random random = random_of(10);
  const CallSetup setup = setup_of(GetParam().info().block_rows + 1, 70, 6, 3);
  Problem sorted(GetParam(), setup, random);
  const std::vector<int64_t> groups = shuffled(3, random);
  std::vector<int64_t> heads;
  for (const int64_t group : groups) {
    for (const int64_t inner : shuffled(2, random)) heads.push_back(2 * group + inner);
  }
  Problem mixed(sorted, setup);
  const auto from = [](const StridedTensor& t, const std::vector<int64_t>& order) {
    return [&](int64_t b, int64_t h, int64_t row, int64_t d) {
      return static_cast<double>(t.at(b, moved(order, h), row, d));
    };
  };
  mixed.fill_q(from(sorted.q, heads));
  mixed.fill_k(from(sorted.k, groups));
  mixed.fill_v(from(sorted.v, groups));
  rearrange_tables(sorted, mixed, [&](Axis::Kind kind, int64_t index) {
    return kind == Axis::Kind::Head     ? moved(heads, index)
           : kind == Axis::Kind::KvHead ? moved(groups, index)
                                        : index;
  });
  const Results expected = sorted.checked_run(), got = mixed.checked_run();
  for (int64_t h = 0; h < 6; ++h) {
    for (int64_t i = 0; i < setup.q_rows; ++i) {
      for (int64_t d = 0; d < got.d_v; ++d) {
        ASSERT_EQ(got.at(0, h, i, d), expected.at(0, moved(heads, h), i, d)) << mixed.text();
      }
      if (!got.lse.empty()) {
        ASSERT_EQ(got.lse[got.row(0, h, i)], expected.lse[got.row(0, moved(heads, h), i)]);
      }
    }
  }
}

class BatchOrder : public Relation {};
FOVEA_FOR_KERNELS(BatchOrder,
                  kernels_whose([](const Variant& v) { return stays_when_moving(v, {"batch"}); }));

TEST_P(BatchOrder, PermutesTheOutput) {
  Random random = random_of(20);
  CallSetup setup = setup_of(GetParam().info().block_rows + 1, 70);
  setup.batch = 4;
  setup.threads = 2;
  setup.q_len = {static_cast<int32_t>(setup.q_rows), 3, 1, 0};
  setup.kv_len = {70, 0, 65, 3};
  setup.q_offset = {9, 0, 64, -2};
  Problem sorted(GetParam(), setup, random);
  const std::vector<int64_t> order = {2, 0, 3, 1};
  CallSetup other = setup;
  for (size_t b = 0; b < 4; ++b) {
    const auto from = static_cast<size_t>(order[b]);
    other.q_len[b] = setup.q_len[from];
    other.kv_len[b] = setup.kv_len[from];
    other.q_offset[b] = setup.q_offset[from];
  }
  Problem mixed(sorted, other);
  const auto from = [&order](const StridedTensor& t) {
    return [&](int64_t b, int64_t h, int64_t row, int64_t d) {
      return static_cast<double>(t.at(moved(order, b), h, row, d));
    };
  };
  mixed.fill_q(from(sorted.q));
  mixed.fill_k(from(sorted.k));
  mixed.fill_v(from(sorted.v));
  rearrange_tables(sorted, mixed, [&](Axis::Kind kind, int64_t index) {
    return kind == Axis::Kind::Batch ? moved(order, index) : index;
  });
  const Results expected = sorted.checked_run(), got = mixed.checked_run();
  for (int64_t b = 0; b < 4; ++b) {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t i = 0; i < other.q_len_of(b); ++i) {
        for (int64_t d = 0; d < got.d_v; ++d) {
          ASSERT_EQ(got.at(b, h, i, d), expected.at(moved(order, b), h, i, d)) << mixed.text();
        }
        if (!got.lse.empty()) {
          ASSERT_EQ(got.lse[got.row(b, h, i)], expected.lse[got.row(moved(order, b), h, i)]);
        }
      }
    }
  }
}

class ScaledValues : public Relation {};
FOVEA_FOR_KERNELS(ScaledValues, kernels_whose(is_proportional_to_values));

// A power of two rounds nothing.
TEST_P(ScaledValues, ScaleTheOutput) {
  const double least = smallest_normal(GetParam().dtype());
  for (const double factor : {2.0, -8.0, 1024.0}) {
    Random random = random_of(30);
    CallSetup setup = random_setup(GetParam(), random);
    setup.v.shared = {};
    setup.packed = false;
    count_case();
    Problem problem(GetParam(), setup, random);
    Results once = problem.checked_run();
    Problem scaled(problem, setup);
    scaled.fill_v([&](int64_t b, int64_t h, int64_t row, int64_t d) {
      return factor * static_cast<double>(problem.v.at(b, h, row, d));
    });
    const Results got = scaled.checked_run();
    for (size_t i = 0; i < once.out.size(); ++i) {
      if (std::isnan(once.out[i])) continue;                            // a row that does not exist
      if (std::abs(once.out[i]) < least && once.out[i] != 0) continue;  // subnormal: it was rounded
      ASSERT_EQ(got.out[i], scaled.rounded(factor * static_cast<double>(once.out[i])))
          << scaled.text();
    }
    for (size_t i = 0; i < once.lse.size(); ++i) {
      if (std::isnan(once.lse[i])) continue;
      ASSERT_EQ(got.lse[i], once.lse[i]) << scaled.text();
    }
  }
}

// Keys past the length, full of garbage.
class MoreRows : public Relation {};
FOVEA_FOR_KERNELS(MoreRows, all_kernels());

Element with_garbage_after(const StridedTensor& t, int64_t rows, double garbage) {
  return [&t, rows, garbage](int64_t b, int64_t h, int64_t row, int64_t d) {
    return row < rows ? static_cast<double>(t.at(b, h, row, d)) : garbage;
  };
}

// Tables grow with the rows they run over.
NewExtent longer_keys(int64_t kv_rows) {
  return [kv_rows](Axis::Kind kind, int64_t old) {
    return kind == Axis::Kind::Key || kind == Axis::Kind::Position ? std::max(old, kv_rows) : old;
  };
}

TEST_P(MoreRows, PastTheLengthAddNothing) {
  for (const int64_t keys : {1, 63, 64, 65, 128, 130, 258}) {
    Random random = random_of(40 + static_cast<uint64_t>(keys));
    CallSetup setup = setup_of(std::min<int64_t>(keys, GetParam().info().block_rows + 1), keys);
    Problem bare(GetParam(), setup, random);
    const Results expected = bare.checked_run();
    setup.kv_rows = keys + 150;
    setup.kv_len = {static_cast<int32_t>(keys)};
    Problem extended(GetParam(), setup);
    extended.params = bare.params;
    extended.fill_q(with_garbage_after(bare.q, setup.q_rows, 0));
    extended.fill_k(with_garbage_after(bare.k, keys, 0));  // NaN past the length as it is
    extended.fill_v(with_garbage_after(bare.v, keys, 0));
    rearrange_tables(
        bare, extended, [](Axis::Kind, int64_t i) { return i; }, longer_keys(setup.kv_rows));
    EXPECT_EQ(bit_difference(extended.checked_run(), expected), "") << extended.text();
  }
}

// Keys that the mask hides from every row. Only a variant that does not look at kv_len can tell
// that they are the same call.
class HiddenKeys : public Relation {};
FOVEA_FOR_KERNELS(HiddenKeys, kernels_whose([](const Variant& v) {
                    return mentions(v, "k") && !mentions(v, "kv_len");
                  }));

TEST_P(HiddenKeys, AddNothing) {
  for (const int64_t keys : {1, 63, 64, 65, 128, 130, 258}) {
    Random random = random_of(50 + static_cast<uint64_t>(keys));
    CallSetup setup = setup_of(std::min<int64_t>(keys, GetParam().info().block_rows + 1), keys);
    setup.q_offset = {static_cast<int32_t>(keys - setup.q_rows)};
    Problem bare(GetParam(), setup, random);
    const Results expected = bare.checked_run();
    for (const int64_t more : {150, 20, 1}) {
      CallSetup longer = setup;
      longer.kv_rows = keys + more;
      Problem extended(GetParam(), longer);
      extended.params = bare.params;
      extended.fill_q(with_garbage_after(bare.q, setup.q_rows, 0));
      extended.fill_k(with_garbage_after(bare.k, keys, std::nan("")));
      extended.fill_v(with_garbage_after(bare.v, keys, std::nan("")));
      rearrange_tables(
          bare, extended, [](Axis::Kind, int64_t i) { return i; }, longer_keys(longer.kv_rows));
      bool is_hidden = true;
      for (int64_t h = 0; h < 2 && is_hidden; ++h) {
        for (int64_t i = 0; i < setup.q_rows && is_hidden; ++i) {
          const std::vector<char> seen = visible_keys(extended, 0, h, i, longer.kv_rows);
          is_hidden = std::count(seen.begin() + keys, seen.end(), 1) == 0;
        }
      }
      if (!is_hidden) continue;
      EXPECT_EQ(bit_difference(extended.checked_run(), expected), "") << extended.text();
      break;
    }
  }
}

// Two calls over parts of the keys, each a view, are one call over all: by their LSE, or as a plain
// sum where nothing is normalised.
bool is_a_plain_sum(const Variant& v) {
  return v.normalizer() == Normalizer::Kind::Weights && !v.divisor().defined();
}

fovea_partial as_part(Results& results) {
  return {tensor(results.out.data(), {results.batch, results.heads, results.rows, results.d_v}),
          lse_tensor(results.lse.data(), results.batch, results.heads, results.rows)};
}

class Parts : public Relation {};
FOVEA_FOR_KERNELS(Parts, kernels_whose([](const Variant& v) {
                    const bool can_merge = v.normalizer() == Normalizer::Kind::Softmax &&
                                           !v.sink_logit().defined() && v.returns_lse();
                    return (can_merge || is_a_plain_sum(v)) && v.output_steps().empty() &&
                           v.slice_count() == 1 && !mentions(v, "kv_len") &&
                           stays_when_moving(v, {"q", "k"});
                  }));

TEST_P(Parts, MergeIntoTheWhole) {
  const bool is_sum = is_a_plain_sum(GetParam().declaration());
  const int64_t q_rows = GetParam().info().block_rows + 1, keys = q_rows + 100;
  for (const int64_t split : {0, 64, 99}) {
    Random random = random_of(60 + static_cast<uint64_t>(split));
    Problem whole(GetParam(), setup_of(q_rows, keys, 1, 1), random);
    std::vector<Results> parts;
    for (const auto& [first, count] : {std::pair{int64_t{0}, split}, {split, keys - split}}) {
      CallSetup setup = setup_of(q_rows, count, 1, 1);
      setup.wants_row_max = setup.wants_row_sum = false;
      setup.q_offset = {static_cast<int32_t>(keys - q_rows - first)};
      Problem part(GetParam(), setup);
      part.params = whole.params;
      const int64_t shift = first;
      const auto from = [shift](const StridedTensor& t) {
        return [&t, shift](int64_t b, int64_t h, int64_t row, int64_t d) {
          return static_cast<double>(t.at(b, h, row + shift, d));
        };
      };
      part.fill_q(
          [&](int64_t b, int64_t h, int64_t i, int64_t d) { return whole.q.at(b, h, i, d); });
      part.fill_k(from(whole.k));
      part.fill_v(from(whole.v));
      rearrange_tables(whole, part, [shift](Axis::Kind kind, int64_t i) {
        const bool moves =
            kind == Axis::Kind::Key || kind == Axis::Kind::Query || kind == Axis::Kind::Position;
        return moves ? i + shift : i;
      });
      parts.push_back(part.checked_run());
    }
    Results merged = parts[0];
    if (is_sum) {
      for (size_t i = 0; i < merged.out.size(); ++i) merged.out[i] += parts[1].out[i];
    } else {
      const fovea_partial both[] = {as_part(parts[0]), as_part(parts[1])};
      EXPECT_EQ(merge(both, as_part(merged)).code(), FOVEA_OK) << fovea_last_message();
    }
    EXPECT_EQ(compare(merged, expected_results(whole)), "") << whole.text();
  }
}

// One number more in every score.
class Shift : public Relation {};
FOVEA_FOR_KERNELS(Shift, kernels_of("test_shift"));

TEST_P(Shift, MovesTheLseAlone) {
  for (const double shift : {0.5, -3.25, 40.0, -1000.0}) {
    Random random = random_of(70);
    Problem problem(GetParam(), setup_of(GetParam().info().block_rows + 1, 130, 1, 1), random);
    problem.params.set("shift", 0);
    const Expected expected = expected_results(problem);
    problem.params.set("shift", shift);
    Results got = problem.checked_run();
    // Sums of shift and score are rounded to the size of the shift.
    const double rounding = std::abs(shift) * 0x1p-22;
    for (size_t row = 0; row < got.lse.size(); ++row) {
      ASSERT_NEAR(got.lse[row] - shift, expected.lse[row], 1e-5 + rounding) << shift;
    }
    for (size_t i = 0; i < got.out.size(); ++i) {
      ASSERT_NEAR(got.out[i], expected.out[i], (1e-5 + 2 * rounding) * expected.out_magnitude[i])
          << shift;
    }
  }
}

}  // namespace
}  // namespace fovea::test
