// reference_test.cpp: answers of the reference that are known without it: exact cases, alignment,
// non-finite values. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/masks.h>
#include <fovea/dsl/reference.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "small_problem.h"

namespace fovea {
namespace {

TEST(Reference, ZeroQueryIsTheMeanOfTheVisibleValues) {
  for (const int64_t keys :
       {1, 5, 7, 9, 15, 17, 31, 33}) {  // fault #85: nothing past the last key is counted
    const auto problem = counting(1, keys);
    const ReferenceResult result = reference_attention(plain(), problem->call, {});
    EXPECT_EQ(result.out.at(0), static_cast<double>(keys + 1) / 2);
    EXPECT_DOUBLE_EQ(result.lse.at(0), std::log(static_cast<double>(keys)));
  }
}

TEST(Reference, OneDominantKeyIsCopied) {
  Problem problem({.sq = 4, .skv = 4, .d = 4, .dv = 2});
  for (size_t i = 0; i < 4; ++i) problem.q[i * 4 + i] = problem.k[i * 4 + i] = 100;
  fill(problem.v, 1);
  // e^-5000 is 0, so the row is the value itself.
  expect_rows(plain(), problem.call, {problem.v.begin(), problem.v.end()});
}

TEST(Reference, ScaleDefaultsToTheRootOfTheFeatureCount) {
  Problem problem({.skv = 2, .d = 4});
  problem.q = {1, 0, 0, 0};
  problem.k = {2, 0, 0, 0, 0, 0, 0, 0};
  problem.v = {1, 0};
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_DOUBLE_EQ(reference_attention(plain(), problem.call, {}).out[0], sigmoid(1.0));
  EXPECT_NEAR(plain_attention(plain(), problem.call, {}).out[0], sigmoid(1.0), 1e-7);
  const float scale = 0.1f;
  problem.call.scale = &scale;
  const ReferenceResult result = reference_attention(plain(), problem.call, {});
  EXPECT_DOUBLE_EQ(result.out[0], sigmoid(2 * static_cast<double>(0.1f)));
  EXPECT_DOUBLE_EQ(result.lse[0], std::log(std::exp(2 * static_cast<double>(0.1f)) + 1));
}

TEST(Reference, CausalIsAlignedBottomRight) {
  const Variant causal = masked(masks::causal());
  // Fault #22: more rows than keys. The first rows see nothing.
  const auto tall = counting(5, 2);
  expect_rows(causal, tall->call, {0, 0, 0, 1, 1.5});
  const ReferenceResult result = reference_attention(causal, tall->call, {});
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(result.lse[i], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(result.lse[3], 0);
  EXPECT_DOUBLE_EQ(result.lse[4], std::log(2.0));
  // Fault #23: one row sees all keys.
  expect_rows(causal, counting(1, 8)->call, {4.5});
  // Fault #26: without a mask the lengths may differ freely.
  expect_rows(plain(), counting(4, 8)->call, {4.5, 4.5, 4.5, 4.5});
  expect_rows(causal, counting(4, 8)->call, {3, 3.5, 4, 4.5});
}

TEST(Reference, OffsetsMoveTheDiagonal) {
  const Variant causal = masked(masks::causal());
  const auto problem = counting(3, 8);
  const int32_t top_left = 0, beyond = 100, before = -2;
  problem->call.q_offset = &top_left;
  expect_rows(causal, problem->call, {1, 1.5, 2});
  problem->call.q_offset = &beyond;
  expect_rows(causal, problem->call, {4.5, 4.5, 4.5});
  problem->call.q_offset = &before;
  expect_rows(causal, problem->call, {0, 0, 1});
}

TEST(Reference, Windows) {
  // Fault #28: two keys in all, the query's own counted.
  Variant last("last");
  const auto window = last.scalar<int>("window").at_least(1);
  last.keep(masks::last_tokens(window));
  ParameterValues values;
  values["window"].scalar = 2;
  expect_rows(last, counting(4, 4)->call, {1, 1.5, 2.5, 3.5}, values);
  // Fault #31: rows that lie outside the keys see nothing.
  expect_rows(masked(masks::window(1, 2)), counting(8, 3)->call, {0, 0, 0, 1, 1.5, 2, 2, 2.5});
}

TEST(Reference, MasksCompose) {
  const Variant v = masked(masks::causal() & (masks::last_tokens(2) | !masks::window(2, 0)));
  EXPECT_EQ(reference_attention(v, counting(4, 4)->call, {}).out,
            (std::vector<double>{1, 1.5, 2.5, (1 + 3 + 4) / 3.0}));
}

TEST(Reference, HugeLogits) {
  const float unit = 1;
  {  // Fault #13: far below any sentinel of "minus infinity".
    Problem problem({.skv = 2});
    problem.q = {1};
    problem.k = {-100000, -100000};
    problem.v = {1, 3};
    problem.call.scale = &unit;
    expect_rows(plain(), problem.call, {2});
    EXPECT_NEAR(reference_attention(plain(), problem.call, {}).lse[0], -99999.307, 1e-3);
    problem.k = {9e28f, -9e28f};
    expect_rows(plain(), problem.call, {1});
  }
  {  // Fault #17: the product leaves the range of f16 before it is scaled.
    std::vector<uint16_t> q(64, 0x5cb0), k(128, 0x5cb0), v = {0x0000, 0x4800};  // 300; 0 and 8
    Problem problem({.skv = 2, .d = 64});
    problem.call.q.data = q.data();
    problem.call.k.data = k.data();
    problem.call.v.data = v.data();
    problem.call.q.dtype = problem.call.k.dtype = problem.call.v.dtype = FOVEA_F16;
    expect_rows(plain(), problem.call, {4});
    EXPECT_NEAR(reference_attention(plain(), problem.call, {}).lse[0], 720000 + std::log(2.0),
                1e-6);
  }
  {  // Fault #19: a capped score saturates.
    Variant capped("capped");
    const auto cap = capped.scalar<float>("softcap").positive();
    capped.score([=](Expr s, const Position&) { return cap * Halide::tanh(s / cap); });
    ParameterValues values;
    values["softcap"].scalar = 30;
    Problem problem({.skv = 2});
    problem.q = {1};
    problem.k = {1e4f, 0};
    problem.v = {2, 5};
    problem.call.scale = &unit;
    EXPECT_NEAR(reference_attention(capped, problem.call, values).out[0], 2 + 3 * std::exp(-30.0),
                1e-14);
    EXPECT_EQ(plain_attention(capped, problem.call, values).out[0], 2.0);
  }
}

TEST(Reference, ScoreStepsRunInOrderAndSeePositions) {
  Variant v("steps");
  v.score([](Expr s, const Position& p) {
    return s + Halide::cast<float>(p.k * 10 + p.q + p.head * 100);
  });
  v.score([](Expr s, const Position&) { return s * 2; });
  Problem problem({.hq = 2, .sq = 1, .skv = 1});
  const ReferenceResult result = reference_attention(v, problem.call, {});
  EXPECT_EQ(result.lse, (std::vector<double>{0, 200}));  // one key: the LSE is its score
  const int32_t offset = 7;
  problem.call.q_offset = &offset;
  EXPECT_EQ(reference_attention(v, problem.call, {}).lse, (std::vector<double>{14, 214}));
}

TEST(Reference, ConstantScoreIsBroadcast) {
  Variant v("constant");
  v.score([](Expr, const Position&) { return Expr(3.0f); });
  const auto problem = counting(2, 3);
  EXPECT_EQ(reference_attention(v, problem->call, {}).out, (std::vector<double>{2, 2}));
}

TEST(Reference, AlibiReadsItsTable) {
  Variant alibi("alibi");
  const auto slope = alibi.table<float>("slope", {axis::head});
  alibi.score([=](Expr s, const Position& p) {
    return s - slope(p.head) * Halide::cast<float>(p.q - p.k);
  });
  alibi.keep(masks::causal());
  Problem problem({.hq = 2, .sq = 2, .skv = 2});
  problem.v = {0, 1};
  const float slopes[] = {0.5f, nan, 2.0f};  // a stride of 2 skips the middle
  ParameterValues values;
  values["slope"].table = {slopes, {2, 0, 0, 0}, {2, 0, 0, 0}};
  const ReferenceResult result = reference_attention(alibi, problem.call, values);
  EXPECT_EQ(result.out[0], 0);
  EXPECT_DOUBLE_EQ(result.out[1], 1 / (1 + std::exp(-0.5)));
  EXPECT_DOUBLE_EQ(result.out[3], 1 / (1 + std::exp(-2.0)));
  // Stride 0 gives all heads the same entry.
  values["slope"].table.stride[0] = 0;
  EXPECT_DOUBLE_EQ(reference_attention(alibi, problem.call, values).out[3],
                   1 / (1 + std::exp(-0.5)));
}

TEST(Reference, TableIndicesAreClamped) {
  Variant v("tables");
  const auto bias = v.table<float>("bias", {2, axis::any});
  const auto group = v.table<int>("group", {axis::key});
  v.score([=](Expr s, const Position& p) { return s + bias(p.k - 1, p.q * 100); });
  v.keep([=](const Position& p) { return group(p.k + 1) == 16777217; });
  const float entries[] = {1, 2, 3, 4, 5, 6};    // [2, 3]
  const int32_t groups[] = {0, 0, 16777217, 5};  // past what a float can hold
  ParameterValues values;
  values["bias"].table = {entries, {2, 3, 0, 0}, {3, 1, 0, 0}};
  values["group"].table = {groups, {3, 0, 0, 0}, {1, 0, 0, 0}};
  Problem problem({.sq = 1, .skv = 4});  // q = 3
  // Keys 1 … 3 see group 2 (clamped); their biases are row 0, 1 and 1 (clamped) of column 2
  // (clamped).
  const double expected = std::log(std::exp(3.0) + 2 * std::exp(6.0));
  EXPECT_DOUBLE_EQ(reference_attention(v, problem.call, values).lse[0], expected);
}

TEST(Reference, QueryHeadsShareKvHeads) {
  Variant v("heads");
  v.score([](Expr s, const Position& p) { return s + Halide::cast<float>(p.kv_head); });
  Problem problem({.hq = 6, .hkv = 2});
  problem.v = {10, 20};
  const ReferenceResult result = reference_attention(v, problem.call, {});
  EXPECT_EQ(result.out, (std::vector<double>{10, 10, 10, 20, 20, 20}));
  EXPECT_EQ(result.lse, (std::vector<double>{0, 0, 0, 1, 1, 1}));
}

TEST(Reference, LengthsAreThoseOfEachSequence) {
  Problem problem({.b = 3, .sq = 3, .skv = 4});
  problem.v = {1, 2, 3, 4, 1, 2, nan, inf, nan, nan, nan, nan};
  for (size_t i = 6; i < 12; ++i) problem.k[i] = nan;
  const int32_t q_len[] = {3, 2, 1}, kv_len[] = {4, 2, 0};
  problem.call.q_len = q_len;
  problem.call.kv_len = kv_len;
  const ReferenceResult result = reference_attention(masked(masks::causal()), problem.call, {});
  EXPECT_EQ(result.computed, (std::vector<char>{1, 1, 1, 1, 1, 0, 1, 0, 0}));
  const std::vector<double> expected = {1.5, 2, 2.5, 1, 1.5, nan, 0, nan, nan};
  for (size_t i = 0; i < expected.size(); ++i) {
    if (result.computed[i]) {
      EXPECT_EQ(result.out[i], expected[i]) << i;
    } else {
      EXPECT_TRUE(std::isnan(result.out[i]) && std::isnan(result.lse[i])) << i;
    }
  }
  EXPECT_EQ(result.lse[6], -std::numeric_limits<double>::infinity());
}

TEST(Reference, KeysPastTheLengthAreNotRead) {
  Problem problem({.skv = 4});
  problem.k.resize(2);  // the rows past kv_len do not even exist
  problem.v = {1, 2};
  problem.k.shrink_to_fit();
  problem.v.shrink_to_fit();
  problem.call.k.data = problem.k.data();
  problem.call.v.data = problem.v.data();
  const int32_t kv_len = 2;
  problem.call.kv_len = &kv_len;
  expect_rows(plain(), problem.call, {1.5});
}

TEST(Reference, StridesDoNotChangeTheResult) {
  const Shape shape{.b = 2, .hq = 4, .hkv = 2, .sq = 3, .skv = 5, .d = 4, .dv = 2};
  Problem problem(shape);
  fill(problem.q, 1);
  fill(problem.k, 2);
  fill(problem.v, 3);
  const Variant causal = masked(masks::causal());
  const std::vector<double> expected = reference_attention(causal, problem.call, {}).out;

  // The same logical tensor as BSHD, as rows in reverse order, and widened by gaps.
  const auto with_strides = [](const fovea_tensor& from, std::vector<float>& storage, int64_t sb,
                               int64_t sh, int64_t sr, size_t size, int64_t origin) {
    storage.assign(size, nan);
    fovea_tensor to = from;
    to.data = storage.data() + origin;
    to.stride[0] = sb;
    to.stride[1] = sh;
    to.stride[2] = sr;
    for (int64_t b = 0; b < from.extent[0]; ++b) {
      for (int64_t h = 0; h < from.extent[1]; ++h) {
        for (int64_t r = 0; r < from.extent[2]; ++r) {
          for (int64_t d = 0; d < from.extent[3]; ++d) {
            static_cast<float*>(to.data)[b * sb + h * sh + r * sr + d] = static_cast<const float*>(
                from.data)[b * from.stride[0] + h * from.stride[1] + r * from.stride[2] + d];
          }
        }
      }
    }
    return to;
  };
  std::vector<float> q, k, v;
  fovea_call strided = problem.call;
  strided.q = with_strides(problem.call.q, q, 48, 4, 16, 96, 0);     // BSHD
  strided.k = with_strides(problem.call.k, k, 80, 40, -8, 160, 32);  // reversed rows with gaps
  strided.v = with_strides(problem.call.v, v, -20, 10, 2, 40, 20);   // reversed batches
  EXPECT_EQ(reference_attention(causal, strided, {}).out, expected);

  // Stride 0: every sequence and head reads the same keys.
  fovea_call broadcast = problem.call;
  broadcast.k.stride[0] = broadcast.k.stride[1] = 0;
  Problem copied(shape);
  copied.q = problem.q;
  copied.v = problem.v;
  for (size_t i = 0; i < copied.k.size(); ++i) copied.k[i] = problem.k[i % 20];
  copied.call.q.data = copied.q.data();
  copied.call.v.data = copied.v.data();
  EXPECT_EQ(reference_attention(causal, broadcast, {}).out,
            reference_attention(causal, copied.call, {}).out);
}

TEST(Reference, SixteenBitInputsAreWidenedExactly) {
  // 1, 1/3 rounded, the largest, the smallest normal and the smallest subnormal number.
  const std::vector<uint16_t> f16 = {0x3c00, 0x3555, 0x7bff, 0x0400, 0x8001};
  const std::vector<double> f16_values = {1, 0x1.554p-2, 65504, 0x1p-14, -0x1p-24};
  const std::vector<uint16_t> bf16 = {0x3f80, 0x3eab, 0x7f7f, 0x0080, 0x8001};
  const std::vector<double> bf16_values = {1, 0x1.56p-2, 0x1.fep127, 0x1p-126, -0x1p-133};
  for (size_t i = 0; i < f16.size(); ++i) {
    Problem problem({});
    uint16_t bits = f16[i];
    problem.call.v.data = &bits;
    problem.call.v.dtype = FOVEA_F16;
    EXPECT_EQ(reference_attention(plain(), problem.call, {}).out[0], f16_values[i]);
    bits = bf16[i];
    problem.call.v.dtype = FOVEA_BF16;
    EXPECT_EQ(reference_attention(plain(), problem.call, {}).out[0], bf16_values[i]);
  }
  Problem problem({});
  problem.call.v.dtype = FOVEA_I8;
  EXPECT_THROW(reference_attention(plain(), problem.call, {}), std::invalid_argument);
}

TEST(Reference, NothingBehindAMaskHasAnEffect) {
  for (const float poison : {nan, inf, -inf}) {
    const auto problem = counting(4, 4);
    problem->q = {0, 0, 0, 0};
    problem->k[3] = poison;
    problem->v[3] = poison;
    for (const bool f32 : {false, true}) {
      const Variant causal = masked(masks::causal());
      const ReferenceResult result = f32 ? plain_attention(causal, problem->call, {})
                                         : reference_attention(causal, problem->call, {});
      EXPECT_EQ(std::vector<double>(result.out.begin(), result.out.end() - 1),
                (std::vector<double>{1, 1.5, 2}));
      EXPECT_TRUE(std::isnan(result.out[3]));  // 0 * poison is NaN in the one row that sees it
    }
  }
}

TEST(Reference, VisibleNonFiniteValuesFollowTheFormula) {
  const float unit = 1;
  const auto with = [&](float k0, float k1, float v0, float v1) {
    Problem problem({.skv = 2});
    problem.q = {1};
    problem.k = {k0, k1};
    problem.v = {v0, v1};
    problem.call.scale = &unit;
    return reference_attention(plain(), problem.call, {});
  };
  EXPECT_TRUE(std::isnan(with(inf, 0, 1, 2).out[0]));
  EXPECT_TRUE(std::isnan(with(inf, 0, 1, 2).lse[0]));
  EXPECT_TRUE(std::isnan(with(nan, 0, 1, 2).out[0]));
  EXPECT_TRUE(std::isnan(with(0, nan, 1, 2).lse[0]));
  EXPECT_TRUE(std::isnan(with(nan, nan, 1, 2).out[0]));
  EXPECT_TRUE(std::isnan(with(-inf, nan, 1, 2).out[0]));
  EXPECT_EQ(with(-inf, 5, 1, 2).out[0], 2);
  EXPECT_EQ(with(-inf, 5, 1, 2).lse[0], 5);
  EXPECT_EQ(with(-inf, -inf, 1, 2).out[0], 0);
  EXPECT_EQ(with(-inf, -inf, 1, 2).lse[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(with(0, 0, inf, 2).out[0], inf);
  EXPECT_TRUE(std::isnan(with(0, 0, inf, -inf).out[0]));
  EXPECT_TRUE(std::isnan(with(-2000, 2000, nan, 2).out[0]));  // weight underflows to 0; 0 * NaN
  EXPECT_TRUE(std::isnan(with(-2000, 2000, inf, 2).out[0]));
}

TEST(Reference, NonFiniteValuesStayInTheirFeature) {
  Problem problem({.skv = 2, .dv = 2});
  problem.v = {nan, 1, 2, 3};
  const ReferenceResult result = reference_attention(plain(), problem.call, {});
  EXPECT_TRUE(std::isnan(result.out[0]));
  EXPECT_EQ(result.out[1], 2);
}

TEST(Reference, SamplesEveryNthRowAndTheLast) {
  const auto problem = counting(6, 6);
  const Variant causal = masked(masks::causal());
  const ReferenceResult result = reference_attention(causal, problem->call, {}, {.row_step = 4});
  EXPECT_EQ(result.computed, (std::vector<char>{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(result.out[4], 3);
  EXPECT_EQ(result.out[5], 3.5);
  EXPECT_TRUE(std::isnan(result.out[1]));
}

TEST(Reference, PlainF32IsCloseToButNotTheDoubleResult) {
  Problem problem({.hq = 2, .hkv = 1, .sq = 40, .skv = 70, .d = 32, .dv = 16});
  fill(problem.q, 4);
  fill(problem.k, 5);
  fill(problem.v, 6);
  const ReferenceResult exact = reference_attention(masked(masks::causal()), problem.call, {});
  const ReferenceResult rounded = plain_attention(masked(masks::causal()), problem.call, {});
  double error = 0;
  for (size_t i = 0; i < exact.out.size(); ++i)
    error = std::max(error, std::abs(exact.out[i] - rounded.out[i]));
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 1e-5);
}

TEST(ParameterValues, AreReadInDeclarationOrder) {
  Variant v("many");
  (void)v.scalar<int>("window");
  (void)v.scalar<float>("cap");
  (void)v.scalar<int>("odd");
  (void)v.table<float>("bias", {axis::head, axis::any});
  (void)v.scalar<float>("last");
  struct {
    int32_t window;
    float cap;
    int32_t odd;
    fovea_table bias;
    float last;
  } params{};
  const float entry = 1;
  params.window = -7;
  params.cap = 0.1f;
  params.odd = 16777217;
  params.bias = {&entry, {2, 3, 0, 0}, {4, 5, 0, 0}};
  params.last = inf;
  const ParameterValues values = parameter_values(v, &params);
  EXPECT_EQ(values.size(), 5u);
  EXPECT_EQ(values.at("window").scalar, -7);
  EXPECT_EQ(values.at("cap").scalar, static_cast<double>(0.1f));
  EXPECT_EQ(values.at("odd").scalar, 16777217);
  EXPECT_EQ(values.at("bias").table.data, &entry);
  EXPECT_EQ(values.at("bias").table.extent[1], 3);
  EXPECT_EQ(values.at("bias").table.stride[1], 5);
  EXPECT_EQ(values.at("last").scalar, static_cast<double>(inf));
  EXPECT_THROW(parameter_values(v, nullptr), std::invalid_argument);
  EXPECT_TRUE(parameter_values(plain(), nullptr).empty());
}

TEST(ParameterValues, MissingOnesAreNamed) {
  Variant v("incomplete");
  const auto cap = v.scalar<float>("cap");
  v.score([=](Expr s, const Position&) { return s * cap; });
  const auto problem = counting(1, 1);
  try {
    reference_attention(v, problem->call, {});
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'cap'"), std::string::npos);
  }
  Variant t("empty_table");
  const auto bias = t.table<float>("bias", {axis::head});
  t.score([=](Expr s, const Position& p) { return s + bias(p.head); });
  EXPECT_THROW(reference_attention(t, problem->call, {{"bias", {}}}), std::invalid_argument);
}

}  // namespace
}  // namespace fovea
