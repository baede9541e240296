// variant_text_test.cpp: the steps of a variant in their order.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/variant_text.h"

#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fovea {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines_of(const Variant& v) {
  std::vector<std::string> lines;
  for (const Step& s : variant_steps(v)) lines.push_back(s.part + ": " + s.text);
  return lines;
}

TEST(VariantText, PlainAttention) {
  const Variant v("plain");
  EXPECT_THAT(lines_of(v),
              ElementsAre("product: score = scale * sum_d(query[d] * key[d]), scale 1/sqrt(d_qk) "
                          "unless given",
                          "weight: w = exp(score) / sum_k(exp(score))",
                          "sum: out[d] = sum_k(w * value[d])"));
  EXPECT_THAT(formula_lines(v), IsEmpty());
}

TEST(VariantText, EveryPieceInItsPlace) {
  Variant v("all");
  // Declared in another order than they are done in.
  v.returns(row_sum);
  v.returns(lse);
  v.output([](const Row& x, Expr d, Position) { return x(d) * 2.0f; });
  v.weight_factor([](Position p) { return select(p.k == p.q, 0.0f, 1.0f); });
  v.normalize(softmax().sink(v.table<float>("sink", {axis::head})));
  v.keep(masks::causal());
  v.keep(masks::first_tokens(8));
  v.score([](Expr s, Position) { return s + 1.0f; });
  v.score([](Expr s, Position) { return s * 2.0f; });
  v.value([](const Row& x, Expr d, Position) { return x(d) + 1.0f; });
  v.key([](const Row& x, Expr d, Position) { return x(d) + 2.0f; });
  v.query([](const Row& x, Expr d, Position) { return x(d) / sqrt(x.mean_square()); });
  EXPECT_THAT(
      lines_of(v),
      ElementsAre(
          "query: query[d] = query[d] / sqrt(mean_j(query[j]^2))", "key: key[d] = key[d] + 2",
          "product: score = scale * sum_d(query[d] * key[d]), scale 1/sqrt(d_qk) unless given",
          "score: score = score + 1", "score: score = score * 2", "mask: keep k <= q && k < 8",
          "weight: w = exp(score) / (sum_k(exp(score)) + exp(sink[head]))",
          "factor: w = w * (0 if k == q else 1)", "value: value[d] = value[d] + 1",
          "sum: out[d] = sum_k(w * value[d])", "output: out[d] = out[d] * 2",
          "returns: lse = ln(sum_k(exp(score))), the sink included",
          "returns: row_sum = sum_k(exp(score - row_max)), the sink included"));
}

TEST(VariantText, WeightsAndTheirDivisor) {
  Variant v("linear");
  v.normalize(sigmoid().divided_by([](Expr sum, Position) { return max(sum, 1.0f); }));
  v.returns(row_sum);
  v.returns(probabilities);
  EXPECT_THAT(formula_lines(v),
              ElementsAre("w = sigmoid(score)", "w = w / max(sum, 1), sum = sum_k(w)"));
  EXPECT_EQ(lines_of(v)[4], "returns: row_sum = sum_k(w), before the division");
  EXPECT_EQ(lines_of(v)[5], "returns: probabilities = w of every query and key");
}

TEST(VariantText, Slices) {
  Variant v("differential");
  const auto lambda = v.table<float>("lambda", {axis::head});
  v.slices(2, [=](const std::vector<Expr>& o, Position p) { return o[0] - lambda(p.head) * o[1]; });
  EXPECT_EQ(lines_of(v)[0],
            "product: score = scale * sum_d(query[d] * key[d]), scale 1/sqrt(d_qk/2) unless given");
  EXPECT_THAT(
      formula_lines(v),
      ElementsAre("out[d] = o[0] - lambda[head] * o[1], each o[i] made like this from slice "
                  "i of 2 of the features"));
}

TEST(VariantText, ParametersKeepTheirNames) {
  Variant v("names");
  const auto query = v.table<float>("query", {axis::feature});
  const auto j = v.scalar<float>("j");
  v.query([=](const Row& x, Expr d, Position) { return x(d) * query(d) + j * x.mean_square(); });
  EXPECT_THAT(formula_lines(v), ElementsAre("x[d] = x[d] * query[d] + j * mean_i(x[i]^2)"));
}

TEST(VariantText, Parameters) {
  Variant v("parameters");
  v.scalar<float>("any_number");
  v.scalar<float>("positive").positive();
  v.scalar<float>("tenth").between(-0.1f, 0.1f);
  v.scalar<int>("count").at_least(1);
  v.scalar<int>("few").at_most(7);
  v.scalar<int>("any_integer");
  v.table<float>("bias", {axis::head, axis::row, axis::key, Axis(3)});
  v.table<int>("document", {axis::batch, axis::position});
  v.table<bool>("allowed", {axis::query, axis::any});
  v.table<float>("gate", {axis::kv_head, axis::feature, axis::value_feature});
  std::vector<std::string> texts;
  for (const auto& p : v.parameters()) texts.push_back(parameter_text(*p));
  EXPECT_THAT(texts,
              ElementsAre("float", "float > 0", "float >= -0.1, <= 0.1", "int >= 1", "int <= 7",
                          "int", "float [head, row, key, 3]", "int [batch, position]",
                          "bool [query, any]", "float [kv_head, feature, value_feature]"));
}

}  // namespace
}  // namespace fovea
