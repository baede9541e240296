// diagonal_terms_test.cpp: which parts of a score chain depend on the distance alone.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl/masks.h>
#include <fovea/dsl/relative_bias.h>
#include <fovea/dsl/variant.h>
#include <gtest/gtest.h>

#include <string>

#include "generators/pipelines/diagonal_terms.h"

namespace fovea {
namespace {

namespace ir = Halide::Internal;

DiagonalTerms terms_of(const Variant& v) { return separate_diagonals(v.score_chain()); }

// q and k no longer occur where everything was taken out.
bool mentions_position(const Expr& e) {
  return ir::expr_uses_var(e, "q") || ir::expr_uses_var(e, "k");
}

TEST(DiagonalTerms, ARelativeBiasIsOneTerm) {
  Variant v("relative");
  const auto bias = v.table<float>("bias", {axis::head, axis::any});
  v.score([=](Expr s, Position p) { return s + bias(p.head, p.k - p.q + 7); });
  const DiagonalTerms d = terms_of(v);
  ASSERT_EQ(d.terms.size(), 1u);
  EXPECT_FALSE(mentions_position(d.rest));
  EXPECT_TRUE(ir::expr_uses_var(d.rest, "score"));
  EXPECT_TRUE(ir::expr_uses_var(d.rest, d.terms[0].symbol));
  EXPECT_FALSE(mentions_position(d.terms[0].value));
  EXPECT_TRUE(ir::expr_uses_var(d.terms[0].value, diagonal_distance().as<ir::Variable>()->name));
}

TEST(DiagonalTerms, TheValueIsThatOfTheExpression) {
  Variant v("t5");
  v.score(
      [=](Expr s, Position p) { return s + Halide::cast<float>(T5Buckets{}(p.k - p.q)) * 0.5f; });
  const DiagonalTerms d = terms_of(v);
  ASSERT_EQ(d.terms.size(), 1u);
  const std::string distance = diagonal_distance().as<ir::Variable>()->name;
  for (const int q : {0, 5, 300}) {
    for (const int k : {0, 4, 5, 17, 500}) {
      const Expr whole =
          ir::simplify(ir::substitute({{"q", q}, {"k", k}, {"score", 1.0f}}, v.score_chain()));
      const Expr term = ir::substitute(distance, q - k, d.terms[0].value);
      const Expr rest =
          ir::simplify(ir::substitute({{d.terms[0].symbol, term}, {"score", Expr(1.0f)}}, d.rest));
      EXPECT_TRUE(ir::equal(whole, rest)) << whole << " and " << rest;
    }
  }
}

TEST(DiagonalTerms, EqualTermsAreOne) {
  Variant v("twice");
  const auto bias = v.table<float>("bias", {axis::any});
  v.score([=](Expr s, Position p) { return s * bias(p.q - p.k) + bias(p.q - p.k); });
  EXPECT_EQ(terms_of(v).terms.size(), 1u);
}

// Nothing is taken out that depends on more than the distance, or that is cheaper than a load.
TEST(DiagonalTerms, WhatIsLeftAlone) {
  const auto refused = [](const std::string& what, auto score) {
    Variant v("left");
    score(v);
    SCOPED_TRACE(what);
    const DiagonalTerms d = terms_of(v);
    EXPECT_TRUE(d.terms.empty());
    EXPECT_TRUE(ir::equal(d.rest, v.score_chain()));
  };
  refused("no score step", [](Variant&) {});
  refused("a bias of the key", [](Variant& v) {
    const auto bias = v.table<float>("bias", {axis::key});
    v.score([=](Expr s, Position p) { return s + bias(p.k); });
  });
  refused("a bias of query and key", [](Variant& v) {
    const auto bias = v.table<float>("bias", {axis::query, axis::key});
    v.score([=](Expr s, Position p) { return s + bias(p.q, p.k); });
  });
  refused("a sum of positions", [](Variant& v) {
    const auto bias = v.table<float>("bias", {axis::any});
    v.score([=](Expr s, Position p) { return s + bias(p.q + p.k); });
  });
  refused("a score that is scaled by the distance's sign", [](Variant& v) {
    v.score([=](Expr s, Position p) { return Halide::select(p.k < p.q, s, s * 2.0f); });
  });
}

}  // namespace
}  // namespace fovea
