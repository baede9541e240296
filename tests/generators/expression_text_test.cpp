// expression_text_test.cpp: expressions as people write them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/expression_text.h"

#include <fovea/dsl.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace fovea {
namespace {

class ExpressionText : public testing::Test {
 protected:
  Variant v{"sample"};
  Scalar<float> softcap = v.scalar<float>("softcap");
  Scalar<int> window = v.scalar<int>("window");
  Table<float> slope = v.table<float>("slope", {axis::head});
  Table<int> lengths = v.table<int>("length", {axis::batch});
  Table<bool> allowed = v.table<bool>("allowed", {axis::row, axis::key});
  Position p = symbolic_position();
  Expr s = symbolic_score(), d = symbolic_feature();
  Row x{"sample", "query transform 1"};

  static void expect(const std::vector<std::pair<Expr, const char*>>& cases) {
    for (const auto& [e, text] : cases) EXPECT_EQ(expression_text(e), text) << e;
  }
};

TEST_F(ExpressionText, OfTheCatalogue) {
  expect({{softcap * tanh(s / softcap), "softcap * tanh(score / softcap)"},
          {p.k <= p.q && p.q - p.k < window, "k <= q && q - k < window"},
          {s - slope(p.head) * cast<float>(p.q - p.k), "score - slope[head] * (q - k)"},
          {p.k < lengths(p.batch), "k < length[batch]"},
          {p.q / window == p.k / window, "q div window == k div window"}});
}

TEST_F(ExpressionText, ParenthesesAreThoseThatTheMeaningNeeds) {
  const Expr a = softcap, b = s, i = p.q, j = p.k;
  expect({{a + b + a, "softcap + score + softcap"},
          {a + (b + a), "softcap + (score + softcap)"},  // reals: another order, another rounding
          {i + (j + window), "q + k + window"},
          {i - (j - window), "q - (k - window)"},
          {i - j - window, "q - k - window"},
          {i - (j + window), "q - (k + window)"},
          {(a + b) * a, "(softcap + score) * softcap"},
          {a * b + a, "softcap * score + softcap"},
          {a / (b * a), "softcap / (score * softcap)"},
          {a / b / a, "softcap / score / softcap"},
          {a / (b / a), "softcap / (score / softcap)"},
          {a * b / a, "softcap * score / softcap"},
          {a * (b / a), "softcap * (score / softcap)"},
          {-(a + b), "-(softcap + score)"},
          {-a * b, "-softcap * score"},
          {a - (-b), "softcap - (-score)"},
          {a + b * 2.0f, "softcap + score * 2"},
          {(i + 1) % 4, "(q + 1) mod 4"},
          {i / 4 * 4, "q div 4 * 4"},
          {4 * (i / 4), "4 * (q div 4)"},
          {4 * (i * j), "4 * q * k"}});
}

TEST_F(ExpressionText, Conditions) {
  const Expr causal = p.k <= p.q, near = p.q - p.k < window, first = p.k < 4;
  expect({{causal && (near || first), "k <= q && (q - k < window || k < 4)"},
          {(causal && near) || first, "k <= q && q - k < window || k < 4"},
          {causal && (near && first), "k <= q && q - k < window && k < 4"},
          {!causal, "!(k <= q)"},
          {!allowed(p.row, p.k), "!allowed[row, k]"},
          {allowed(p.row, p.k), "allowed[row, k]"},
          {allowed(p.row, p.k) && causal, "allowed[row, k] && k <= q"},
          {allowed(p.row, p.k) == (p.k < 3), "allowed[row, k] == (k < 3)"},
          {p.k != 3, "k != 3"},
          {p.k >= p.q + 1, "k >= q + 1"},
          {p.k > 7, "k > 7"},
          {Halide::Internal::const_true(), "true"}});
}

TEST_F(ExpressionText, Choices) {
  expect({{select(p.k <= p.q, s, 0.0f), "score if k <= q else 0"},
          {select(p.k < 1, s, p.k < 2, softcap, 0.5f),
           "score if k < 1 else softcap if k < 2 else 0.5"},
          {1.0f + select(p.k < 1, s, softcap), "1 + (score if k < 1 else softcap)"},
          {select(p.k < 1, select(p.q < 1, s, softcap), s),
           "(score if q < 1 else softcap) if k < 1 else score"},
          {clamp(p.q, 0, window), "clamp(q, 0, window)"},
          {min(p.q, 3), "min(q, 3)"},
          {max(s, 0.0f), "max(score, 0)"},
          {cast<float>(p.k <= p.q) * s, "(1 if k <= q else 0) * score"}});
}

TEST_F(ExpressionText, NumbersAndConversions) {
  expect({{s + 1e-8f, "score + 1e-08"},
          {s * 0.1f, "score * 0.1"},
          {s - 1e30f, "score - 1e+30"},
          {p.q + -5, "q - 5"},
          {p.q - -5, "q + 5"},
          {s * -1.0f, "-score"},
          {s * -2.0f, "score * (-2)"},
          {cast<float>(p.q) / 2.0f, "q / 2"},
          {p.q / 2, "q div 2"},
          {cast<float>(p.q / 2), "q div 2"},
          {cast<int>(s), "int(score)"},
          {cast<int>(floor(s)), "int(floor(score))"},
          {cast<double>(s), "score"},
          {cast<float>(cast<double>(s) + Expr(1.0)), "float(score + 1)"},
          {cast<uint8_t>(p.q), "uint8(q)"},
          {cast<int64_t>(p.q), "q"},
          {cast<uint32_t>(p.q) >> 3, "uint(q) >> 3"}});
}

TEST_F(ExpressionText, Functions) {
  expect({{exp(s), "exp(score)"},
          {sqrt(s + 1.0f), "sqrt(score + 1)"},
          {pow(s, 2.0f), "score^2"},
          {pow(s + 1.0f, softcap), "(score + 1)^softcap"},
          {-pow(s, 3.0f), "-score^3"},
          {s * s, "score^2"},
          {(s + 1.0f) * (s + 1.0f), "(score + 1)^2"},
          {abs(p.q - p.k), "abs(q - k)"},
          {abs(s), "abs(score)"},
          {Halide::absd(p.q, p.k), "abs(q - k)"},
          {cos(s) * sin(s), "cos(score) * sin(score)"},
          {sigmoid(s + softcap), "sigmoid(score + softcap)"},
          {s * sigmoid(s), "score * sigmoid(score)"},
          {Halide::strict_float(s + softcap * s), "score + softcap * score"},
          {Halide::likely(s), "score"},
          {(p.q & 3) | 4, "q & 3 | 4"},
          {p.q ^ (p.k << 2), "q xor k << 2"},
          {~p.q, "~q"},
          {Variant::symbolic_slice(0) - softcap * Variant::symbolic_slice(1),
           "o[0] - softcap * o[1]"}});
}

TEST_F(ExpressionText, TablesAndTheirExtents) {
  const Table<float> bias = v.table<float>("bias", {axis::head, axis::any});
  expect({{bias(p.head, clamp(p.q - p.k, 0, bias.extent(1) - 1)),
           "bias[head, clamp(q - k, 0, extent(bias, 1) - 1)]"},
          {p.q % slope.extent(), "q mod extent(slope)"},
          {slope(lengths(p.batch)), "slope[length[batch]]"}});
}

TEST_F(ExpressionText, Rows) {
  expect({{x(d) / sqrt(x.mean_square() + softcap), "x[d] / sqrt(mean_j(x[j]^2) + softcap)"},
          {x(d) / x.sum([&](Expr j) { return x(j) * slope(j); }), "x[d] / sum_j(x[j] * slope[j])"},
          {x.largest([&](Expr j) { return abs(x(j)); }), "max_j(abs(x[j]))"},
          {select(d < x.size() / 2, -x(d + x.size() / 2), x(d - x.size() / 2)),
           "-x[d + size(x) div 2] if d < size(x) div 2 else x[d - size(x) div 2]"}});
  EXPECT_EQ(expression_text(x(d) * x.mean_square(), {"query", "i"}),
            "query[d] * mean_i(query[i]^2)");
}

TEST_F(ExpressionText, LongOnesNameWhatTheyHoldTwice) {
  Expr e = p.q;
  for (int round = 0; round < 20; ++round) e = e * e + p.k;
  const std::string text = expression_text(e);
  EXPECT_LT(text.size(), 500u) << text;
  EXPECT_NE(text.find("^2 + k, where t1 = q^2 + k, t2 = t1^2 + k, "), std::string::npos) << text;
}

TEST_F(ExpressionText, LetsAreSubstituted) {
  const Expr t = Halide::Internal::Variable::make(Halide::Float(32), "t");
  EXPECT_EQ(expression_text(Halide::Internal::Let::make("t", s + 1.0f, t * softcap)),
            "(score + 1) * softcap");
}

}  // namespace
}  // namespace fovea
