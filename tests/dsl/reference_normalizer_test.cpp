// reference_normalizer_test.cpp: sinks, weight functions, factors and extra outputs against answers
// calculated by hand. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "small_problem.h"

namespace fovea {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Variant declared(const std::function<void(Variant&)>& body) {
  Variant v("sample");
  body(v);
  v.check();
  return v;
}

Variant normalized(const Normalizer& n) {
  return declared([&](Variant& v) { v.normalize(n); });
}

// A softmax whose sink is a table over the heads, with all extra outputs.
struct WithSink {
  WithSink(const Mask& mask, std::vector<float> logits) : entries(std::move(logits)) {
    v.normalize(softmax().sink(v.table<float>("sink", {axis::head})));
    v.keep(mask);
    for (const Output output : {lse, row_max, row_sum, probabilities}) v.returns(output);
    values["sink"] = table_of(entries, {static_cast<int64_t>(entries.size())});
  }
  Variant v{"with_sink"};
  std::vector<float> entries;
  ParameterValues values;
};

// Keys whose scores are `scores` (one query of 1, scale 1) and whose values are `values`.
struct ScoredKeys : Problem {
  ScoredKeys(std::vector<float> scores, std::vector<float> numbers)
      : Problem({.skv = static_cast<int64_t>(scores.size())}) {
    q = {1};
    k = std::move(scores);
    v = std::move(numbers);
    call.q.data = q.data();
    call.k.data = k.data();
    call.v.data = v.data();
    call.scale = &unit;
  }
  const float unit = 1;
};

TEST(Sink, JoinsTheSumAndTheLse) {
  // Fault #38: Q = 0, four keys, V = 1, sink 2.
  const WithSink sink(masks::full(), {2});
  Problem problem({.skv = 4});
  problem.v = {1, 1, 1, 1};
  const ReferenceResult r = reference_attention(sink.v, problem.call, sink.values);
  const double e2 = std::exp(2.0);
  EXPECT_DOUBLE_EQ(r.out[0], 4 / (4 + e2));
  EXPECT_NEAR(r.out[0], 0.35122, 1e-5);
  EXPECT_DOUBLE_EQ(r.lse[0], std::log(4 + e2));
  EXPECT_EQ(r.row_max[0], 2);
  EXPECT_DOUBLE_EQ(r.row_sum[0], 1 + 4 / e2);
  for (const double p : r.probabilities) EXPECT_DOUBLE_EQ(p, 1 / (4 + e2));
  // Fault #41: eight keys, sink 1.
  const WithSink one(masks::full(), {1});
  Problem eight({.skv = 8});
  eight.v.assign(8, 1);
  EXPECT_DOUBLE_EQ(reference_attention(one.v, eight.call, one.values).out[0],
                   8 / (8 + std::exp(1.0)));
  EXPECT_NEAR(plain_attention(one.v, eight.call, one.values).out[0], 0.74639, 1e-5);
}

TEST(Sink, IsNotScaledAndBelongsToItsHead) {
  const WithSink sink(masks::full(), {0, -inf, 3});
  Problem problem({.hq = 3, .skv = 1});
  problem.v = {1};
  const float scale = 5;
  problem.call.scale = &scale;
  const ReferenceResult r = reference_attention(sink.v, problem.call, sink.values);
  EXPECT_DOUBLE_EQ(r.out[0], 0.5);
  EXPECT_EQ(r.out[1], 1);  // -infinity is none
  EXPECT_EQ(r.lse[1], 0);
  EXPECT_DOUBLE_EQ(r.out[2], 1 / (1 + std::exp(3.0)));
}

TEST(Sink, LargeSinksAndEmptyRows) {
  {  // Fault #40 (a): the sink is by far the largest logit.
    const WithSink sink(masks::full(), {100});
    Problem problem({.skv = 2});
    problem.v = {1, 1};
    const ReferenceResult r = reference_attention(sink.v, problem.call, sink.values);
    EXPECT_NEAR(r.out[0], 2 * std::exp(-100.0), 1e-55);
    EXPECT_EQ(r.lse[0], 100);
    EXPECT_EQ(r.row_max[0], 100);
    EXPECT_EQ(r.row_sum[0], 1);
    EXPECT_EQ(plain_attention(sink.v, problem.call, sink.values).lse[0], 100);
  }
  {  // Fault #40 (b): no keys.
    const WithSink sink(!masks::full(), {0.5});
    Problem problem({.skv = 2});
    problem.v = {nan, 1};
    for (const auto& attention : {reference_attention, plain_attention}) {
      const ReferenceResult r = attention(sink.v, problem.call, sink.values, {});
      EXPECT_EQ(r.out[0], 0);
      EXPECT_EQ(r.lse[0], 0.5);
      EXPECT_EQ(r.row_max[0], 0.5);
      EXPECT_EQ(r.row_sum[0], 1);
      EXPECT_EQ(r.probabilities, (std::vector<double>{0, 0}));
    }
  }
  {  // Neither keys nor a sink.
    const WithSink none(!masks::full(), {-inf});
    Problem problem({.skv = 2});
    const ReferenceResult r = reference_attention(none.v, problem.call, none.values);
    EXPECT_EQ(r.out[0], 0);
    EXPECT_EQ(r.lse[0], -infinity);
    EXPECT_EQ(r.row_max[0], -infinity);
    EXPECT_EQ(r.row_sum[0], 0);
    EXPECT_EQ(r.probabilities, (std::vector<double>{0, 0}));
  }
}

TEST(Sink, NanReachesItsHead) {
  for (const Mask& mask : {masks::full(), !masks::full()}) {
    const WithSink sink(mask, {nan, 1});
    Problem problem({.hq = 2, .skv = 2});
    const ReferenceResult r = reference_attention(sink.v, problem.call, sink.values);
    for (const double x : {r.out[0], r.lse[0], r.row_max[0], r.row_sum[0]}) {
      EXPECT_TRUE(std::isnan(x));
    }
    EXPECT_FALSE(std::isnan(r.out[1]) || std::isnan(r.lse[1]));
  }
}

TEST(Sink, InfinityHasNoSoftmax) {
  for (const Mask& mask : {masks::full(), !masks::full()}) {
    const WithSink sink(mask, {inf});
    Problem problem({.skv = 2});
    const ReferenceResult r = reference_attention(sink.v, problem.call, sink.values);
    EXPECT_TRUE(std::isnan(r.out[0]) && std::isnan(r.lse[0]) && std::isnan(r.row_sum[0]));
    EXPECT_TRUE(std::isnan(r.row_max[0]));
  }
}

TEST(Sink, MayDependOnTheQuery) {
  const Variant v = declared([](Variant& d) {
    const auto gate = d.table<float>("gate", {axis::batch, axis::row});
    d.normalize(softmax().sink([=](const Position& p) { return gate(p.batch, p.row); }));
  });
  const std::vector<float> entries = {0, 1};
  Problem problem({.sq = 2, .skv = 1});
  problem.v = {1};
  const int32_t offset = 40;  // rows are counted from 0 all the same
  problem.call.q_offset = &offset;
  const ReferenceResult r =
      reference_attention(v, problem.call, {{"gate", table_of(entries, {1, 2})}});
  EXPECT_DOUBLE_EQ(r.out[0], 0.5);
  EXPECT_DOUBLE_EQ(r.out[1], 1 / (1 + std::exp(1.0)));
}

TEST(Weights, SigmoidReluAndIdentity) {
  ScoredKeys problem({-2, 0, 3}, {1, 10, 100});
  const auto s = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_DOUBLE_EQ(reference_attention(normalized(sigmoid()), problem.call, {}).out[0],
                   s(-2) + 10 * s(0) + 100 * s(3));
  expect_rows(normalized(relu()), problem.call, {300});
  expect_rows(normalized(identity()), problem.call, {298});
  // Far outside the range of the exponential.
  ScoredKeys huge({-1e30f, 1e30f}, {5, 7});
  expect_rows(normalized(sigmoid()), huge.call, {7});
}

TEST(Weights, SeeThePositionAndOtherFunctions) {
  const Variant v = declared([](Variant& d) {
    d.score([](Expr s, const Position&) { return s + 1.0f; });
    d.normalize(weights([](Expr s, const Position& p) { return s * s * cast<float>(p.k + 1); }));
  });
  ScoredKeys problem({0, 1, 2}, {1, 10, 100});
  expect_rows(v, problem.call, {1 + 8 * 10 + 27 * 100});
}

TEST(Weights, DivisorGetsTheSum) {
  ScoredKeys problem({1, 2, 5}, {10, 20, 30});
  expect_rows(normalized(identity().divided_by([](Expr sum, const Position&) { return sum; })),
              problem.call, {25});
  expect_rows(normalized(identity().divided_by([](Expr sum, const Position& p) {
                return sum * 2.0f + cast<float>(p.kv_len - 3);
              })),
              problem.call, {12.5});
  // ReLU attention over the number of visible keys, as in its publication.
  const Variant averaged = declared([](Variant& v) {
    v.keep(masks::causal());
    v.normalize(relu().divided_by([](Expr, const Position& p) { return cast<float>(p.q + 1); }));
  });
  const int32_t middle = 1;
  problem.call.q_offset = &middle;
  expect_rows(averaged, problem.call, {(10 + 40) / 2.0});
}

TEST(Weights, EmptyRowsAreZero) {
  const Variant v = declared([](Variant& d) {
    d.keep(!masks::full());
    d.normalize(sigmoid().divided_by([](Expr sum, const Position&) { return sum; }));
    d.returns(row_sum);
    d.returns(probabilities);
  });
  ScoredKeys problem({nan, 1}, {nan, inf});
  const ReferenceResult r = reference_attention(v, problem.call, {});
  EXPECT_EQ(r.out[0], 0);
  EXPECT_EQ(r.row_sum[0], 0);
  EXPECT_EQ(r.probabilities, (std::vector<double>{0, 0}));
}

TEST(Weights, SumAndProbabilities) {
  const Variant v = declared([](Variant& d) {
    d.keep([](const Position& p) { return p.k != 1; });
    d.normalize(identity().divided_by([](Expr sum, const Position&) { return sum / 2.0f; }));
    d.returns(row_sum);
    d.returns(probabilities);
  });
  ScoredKeys problem({1, nan, 3}, {1, nan, 1});
  const ReferenceResult r = reference_attention(v, problem.call, {});
  EXPECT_EQ(r.out[0], 2);
  EXPECT_EQ(r.row_sum[0], 4);
  EXPECT_EQ(r.probabilities, (std::vector<double>{0.5, 0, 1.5}));
  EXPECT_TRUE(std::isnan(r.lse[0]));
  EXPECT_TRUE(r.row_max.empty());
}

TEST(Weights, NanScoreReachesTheWholeRow) {
  const Normalizer constant = weights([](Expr, const Position&) { return Expr(1.0f); });
  for (const Normalizer& n : {softmax(), sigmoid(), relu(), identity(), constant}) {
    const Variant v = declared([&](Variant& d) {
      d.keep(masks::causal());
      d.normalize(n);
      d.returns(row_sum);
    });
    Problem problem({.sq = 2, .skv = 2, .dv = 2});
    problem.k = {0, nan};
    problem.v = {1, 2, 0, 0};
    for (const auto& attention : {reference_attention, plain_attention}) {
      const ReferenceResult r = attention(v, problem.call, {}, {});
      for (const size_t i : {0u, 1u}) EXPECT_TRUE(std::isfinite(r.out[i]));
      for (const size_t i : {2u, 3u}) EXPECT_TRUE(std::isnan(r.out[i]));
      EXPECT_TRUE(std::isfinite(r.row_sum[0]));
      EXPECT_TRUE(std::isnan(r.row_sum[1]));
    }
  }
}

TEST(WeightFactor, MultipliesInTheSumOfValuesOnly) {
  const Variant v = declared([](Variant& d) {
    d.weight_factor([](const Position& p) { return cast<float>(p.k) * 2.0f; });
    for (const Output output : {lse, row_max, row_sum, probabilities}) d.returns(output);
  });
  ScoredKeys problem({0, 0, 0, 0}, {1, 1, 1, 1});
  for (const auto& attention : {reference_attention, plain_attention}) {
    const ReferenceResult r = attention(v, problem.call, {}, {});
    EXPECT_EQ(r.out[0], 3);  // (0 + 2 + 4 + 6) / 4
    EXPECT_EQ(r.row_sum[0], 4);
    EXPECT_EQ(r.row_max[0], 0);
    EXPECT_NEAR(r.lse[0], std::log(4.0), 1e-6);
    EXPECT_EQ(r.probabilities, (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  }
}

TEST(WeightFactor, WorksWithWeightFunctions) {
  const Variant v = declared([](Variant& d) {
    d.normalize(identity().divided_by([](Expr sum, const Position&) { return sum; }));
    d.weight_factor([](const Position& p) { return select(p.k == 0, 0.0f, 4.0f); });
  });
  ScoredKeys problem({1, 3}, {100, 5});
  expect_rows(v, problem.call, {15});
}

TEST(ExtraOutputs, AgreeWithEachOther) {
  for (const bool with_sink : {false, true}) {
    const WithSink sink(masks::causal() & masks::last_tokens(7),
                        {with_sink ? 0.5f : -inf, with_sink ? -3.0f : -inf});
    Problem problem({.b = 2, .hq = 2, .sq = 9, .skv = 12, .d = 8, .dv = 3});
    fill(problem.q, 1);
    fill(problem.k, 2);
    fill(problem.v, 3);
    const float scale = 3;
    problem.call.scale = &scale;
    const int32_t kv_len[] = {12, 5};  // rows 0 … 3 of the second sequence see nothing
    problem.call.kv_len = kv_len;
    const ReferenceResult r = reference_attention(sink.v, problem.call, sink.values);
    ASSERT_EQ(r.probabilities.size(), 2u * 2 * 9 * 12);
    for (size_t row = 0; row < 36; ++row) {
      SCOPED_TRACE(row);
      const bool is_empty = row >= 18 && row % 9 < 4;
      const double head_sink = static_cast<double>(sink.entries[row / 9 % 2]);
      double sum = 0;
      const size_t keys = row < 18 ? 12 : 5;
      for (size_t k = 0; k < keys; ++k) sum += r.probabilities[row * 12 + k];
      for (size_t k = keys; k < 12; ++k) EXPECT_TRUE(std::isnan(r.probabilities[row * 12 + k]));
      if (is_empty) {
        EXPECT_EQ(sum, 0);
        EXPECT_EQ(r.lse[row], head_sink);
        EXPECT_EQ(r.row_max[row], head_sink);
        EXPECT_EQ(r.row_sum[row], with_sink ? 1 : 0);
        continue;
      }
      EXPECT_NEAR(sum, 1 - std::exp(head_sink - r.lse[row]), 1e-15);
      EXPECT_NEAR(r.lse[row], r.row_max[row] + std::log(r.row_sum[row]), 1e-15);
      for (size_t d = 0; d < 3; ++d) {
        double out = 0;
        for (size_t k = 0; k < keys; ++k) {
          out += r.probabilities[row * 12 + k] *
                 static_cast<double>(problem.v[((row / 18 * 1 + 0) * 12 + k) * 3 + d]);
        }
        EXPECT_NEAR(r.out[row * 3 + d], out, 1e-15);
      }
    }
  }
}

TEST(ExtraOutputs, AreEmptyUnlessReturned) {
  Problem problem({});
  const ReferenceResult r = reference_attention(plain(), problem.call, {});
  EXPECT_TRUE(r.row_max.empty() && r.row_sum.empty() && r.probabilities.empty());
  EXPECT_TRUE(r.out_magnitude.empty());
}

}  // namespace
}  // namespace fovea
