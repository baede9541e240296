// variant_test.cpp: every rule of a declaration broken once, and what a correct one turns into.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/evaluate.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace fovea {
namespace {

using ::testing::HasSubstr;

// What a broken rule has to say, each as a part of the text.
struct Refusal {
  std::string field, value, rule, fix;
};

void expect_refusal(const std::function<void()>& declaration, const std::string& variant,
                    const Refusal& expected) {
  try {
    declaration();
  } catch (const DeclarationError& error) {
    EXPECT_EQ(error.variant(), variant);
    EXPECT_EQ(error.field(), expected.field);
    EXPECT_THAT(error.value(), HasSubstr(expected.value));
    EXPECT_THAT(error.rule(), HasSubstr(expected.rule));
    EXPECT_THAT(error.fix(), HasSubstr(expected.fix));
    EXPECT_EQ(std::string(error.what()), "variant '" + variant + "': " + error.field() + " is " +
                                             error.value() + "\n  rule: " + error.rule() +
                                             "\n  fix:  " + error.fix());
    return;
  } catch (const std::exception& other) {
    FAIL() << "not a DeclarationError: " << other.what();
  }
  FAIL() << "accepted; expected a refusal of " << expected.field;
}

// Declares a variant "broken" with `body` and checks it as a whole.
void expect_broken(const std::function<void(Variant&)>& body, const Refusal& expected) {
  expect_refusal(
      [&] {
        Variant v("broken");
        body(v);
        v.check();
      },
      "broken", expected);
}

Variant declared(const std::function<void(Variant&)>& body) {
  Variant v("sample");
  body(v);
  v.check();
  return v;
}

struct BadName {
  const char* name;
  const char* rule;
};

constexpr BadName bad_names[] = {{"", "empty"},
                                 {"Causal", "begin with a lower-case letter"},
                                 {"9to5", "begin with a lower-case letter"},
                                 {"_hidden", "begin with a lower-case letter"},
                                 {"soft-cap", "lower-case letters, digits and underscores"},
                                 {"softCap", "lower-case letters, digits and underscores"},
                                 {"caf\xc3\xa9", "lower-case letters, digits and underscores"},
                                 {"soft__cap", "underscores stand single and inside"},
                                 {"softcap_", "underscores stand single and inside"},
                                 {"while", "keyword"},
                                 {"template", "keyword"},
                                 {"constexpr", "keyword"},
                                 {"co_await", "keyword"},
                                 {"alignas", "keyword"},
                                 {"restrict", "keyword"},
                                 {"linux", "keyword"}};

TEST(Names, VariantNamesAreIdentifiers) {
  for (const BadName& bad : bad_names) {
    SCOPED_TRACE(bad.name);
    expect_refusal([&] { Variant v(bad.name); }, bad.name,
                   {"name", std::string("'") + bad.name + "'", bad.rule, "softcapped_window"});
  }
  for (const char* good : {"a", "causal", "alibi_2d", "x9", "whiles"}) Variant{good};
}

TEST(Names, ParameterNamesAreIdentifiers) {
  for (const BadName& bad : bad_names) {
    SCOPED_TRACE(bad.name);
    const std::string value = std::string("'") + bad.name + "'";
    expect_broken([&](Variant& v) { v.scalar<float>(bad.name); },
                  {"scalar name", value, bad.rule, "softcap"});
    expect_broken([&](Variant& v) { v.table<int>(bad.name, {axis::head}); },
                  {"table name", value, bad.rule, "softcap"});
  }
}

TEST(Names, ParametersDoNotShadowThePosition) {
  for (const std::string name :
       {"batch", "head", "kv_head", "q", "k", "row", "q_len", "kv_len", "score", "d", "sum"}) {
    SCOPED_TRACE(name);
    expect_broken([&](Variant& v) { v.scalar<int>(name); },
                  {"scalar name", "'" + name + "'", "score, d and sum have a meaning of their own",
                   name + "_value"});
    expect_broken([&](Variant& v) { v.table<float>(name, {axis::head}); },
                  {"table name", "'" + name + "'", "score, d and sum have a meaning of their own",
                   name + "_value"});
  }
}

TEST(Names, ParametersAreDeclaredOnce) {
  const Refusal twice = {"table name", "'slope'", "declared once", "first declaration"};
  expect_broken(
      [](Variant& v) {
        v.scalar<float>("slope");
        v.table<float>("slope", {axis::head});
      },
      twice);
  expect_broken(
      [](Variant& v) {
        v.scalar<float>("cap");
        v.scalar<int>("cap");
      },
      {"scalar name", "'cap'", "declared once", "first declaration"});
}

TEST(Summary, StandsInsideComments) {
  for (const char* text :
       {"two\nlines", "a\ttab", "end */ of comment", "begin /* of one", "ends \\"})
    expect_broken([&](Variant& v) { v.summary(text); },
                  {"summary", text, "inside a comment", "leave out"});
  EXPECT_EQ(declared([](Variant& v) { v.summary("q * k / sqrt(d): caf\xc3\xa9"); }).summary_text(),
            "q * k / sqrt(d): caf\xc3\xa9");
}

TEST(Tables, HaveOneToFourAxes) {
  expect_broken([](Variant& v) { v.table<float>("t", {}); },
                {"table 't'", "declared with 0 axes", "1 to 4 axes", "fold"});
  expect_broken(
      [](Variant& v) {
        v.table<float>("t", {axis::batch, axis::head, axis::query, axis::key, axis::any});
      },
      {"table 't'", "declared with 5 axes", "1 to 4 axes", "fold"});
}

TEST(Tables, FixedExtentsArePositiveAnd32Bit) {
  for (const int64_t extent : {int64_t{0}, int64_t{-3}, int64_t{1} << 31}) {
    expect_broken(
        [&](Variant& v) { v.table<float>("t", {axis::head, extent}); },
        {"table 't'", "extent of " + std::to_string(extent), "1 to 2147483647", "axis::any"});
  }
  declared([](Variant& v) {
    auto t = v.table<int>("t", {1, 2147483647});
    v.keep([=](Position p) { return t(p.q, p.k) != 0; });
  });
}

TEST(Tables, AreReadWithOneIntegerPerAxis) {
  const auto read = [](const std::function<Expr(Table<float>, Position)>& f) {
    return [f](Variant& v) {
      auto t = v.table<float>("bias", {axis::head, axis::any});
      v.score([=](Expr s, Position p) { return s + f(t, p); });
    };
  };
  expect_broken(read([](auto t, Position p) { return t(p.head); }),
                {"table 'bias'", "read with 1 indices", "declared with 2 axes", "one index per"});
  expect_broken(read([](auto t, Position p) { return t(p.head, p.q, p.k); }),
                {"table 'bias'", "read with 3 indices", "declared with 2 axes", "one index per"});
  expect_broken(read([](auto t, Position) { return t(); }),
                {"table 'bias'", "read with 0 indices", "declared with 2 axes", "one index per"});
  expect_broken(read([](auto t, Position p) { return t(p.head, cast<float>(p.k)); }),
                {"table 'bias'", "index 1 of type float32", "an integer", "cast<int>"});
  expect_broken(read([](auto t, Position p) { return t(Expr(), p.k); }),
                {"table 'bias'", "index 0 that is undefined", "an integer", "cast<int>"});
  declared(read([](auto t, Position p) { return t(3, cast<uint8_t>(p.k)); }));
}

TEST(ScoreSteps, MapFloatToFloat) {
  const Refusal rule = {"score step 1", "", "a score step is a float32 expression", "cast<float>"};
  const auto of_type = [&](const char* text) {
    Refusal r = rule;
    r.value = text;
    return r;
  };
  expect_broken([](Variant& v) { v.score([](Expr, Position p) { return p.q - p.k; }); },
                of_type("of type int32"));
  expect_broken([](Variant& v) { v.score([](Expr s, Position) { return cast<double>(s); }); },
                of_type("of type float64"));
  expect_broken([](Variant& v) { v.score([](Expr s, Position) { return s > 0.0f; }); },
                of_type("of type"));
  expect_broken([](Variant& v) { v.score([](Expr, Position) { return Expr(); }); },
                of_type("undefined"));
  // The number of the step that is at fault.
  expect_broken(
      [](Variant& v) {
        v.score([](Expr s, Position) { return s; });
        v.score([](Expr, Position p) { return p.q; });
      },
      {"score step 2", "of type int32", "float32", "cast<float>"});
}

TEST(Masks, AreBoolExpressions) {
  expect_broken([](Variant& v) { v.keep([](Position p) { return p.q - p.k; }); },
                {"mask 1", "of type int32", "a bool expression", "p.k <= p.q"});
  expect_broken(
      [](Variant& v) {
        v.keep(masks::causal());
        v.keep([](Position) { return Expr(); });
      },
      {"mask 2", "undefined", "a bool expression", "p.k <= p.q"});
  expect_broken(
      [](Variant& v) {
        auto allowed = v.table<int>("allowed", {axis::query, axis::key});
        v.keep([=](Position p) { return allowed(p.q, p.k); });
      },
      {"mask 1", "of type int32", "a bool expression", "allowed(p.q, p.k) != 0"});
}

TEST(Masks, DoNotSeeTheScore) {
  Expr leaked;
  expect_broken(
      [&](Variant& v) {
        v.score([&](Expr s, Position) {
          leaked = s;
          return s;
        });
        v.keep([&](Position) { return leaked > 0.0f; });
      },
      {"mask 1", "built from 'score'", "the position and on parameters only", "select"});
}

TEST(Expressions, UseDeclaredNamesOnly) {
  const char* rule = "the position, the score and declared parameters";
  expect_broken(
      [](Variant& v) {
        const Halide::Var x("x");
        v.keep([=](Position p) { return p.k <= x; });
      },
      {"mask 1", "built from 'x'", rule, "v.scalar<float>(\"x\")"});
  expect_broken(
      [](Variant& v) {
        const Halide::Param<float> cap("cap");
        v.score([=](Expr s, Position) { return s / cap; });
      },
      {"score step 1", "built from 'cap'", rule, "v.scalar<float>(\"cap\")"});
  expect_broken(
      [](Variant& v) {
        const Halide::RDom r(0, 4, "r");
        v.keep([=](Position p) { return p.k <= r.x; });
      },
      {"mask 1", "built from 'r", rule, "declare it"});
}

TEST(Expressions, UseNamesWithTheirOwnType) {
  expect_broken(
      [](Variant& v) {
        v.scalar<int>("window");
        const Halide::Param<float> window("window");
        v.score([=](Expr s, Position) { return s * window; });
      },
      {"score step 1", "'window' of type float32", "'window' is int32", "the handle"});
  expect_broken(
      [](Variant& v) {
        const Halide::Var score("score");
        v.score([=](Expr s, Position) { return s + cast<float>(score); });
      },
      {"score step 1", "'score' of type int32", "'score' is float32", "Position"});
}

TEST(Expressions, UseHandlesOfTheirOwnVariant) {
  Variant other("other");
  const Table<float> slope = other.table<float>("slope", {axis::head});
  const Scalar<float> cap = other.scalar<float>("cap");
  const char* rule = "belongs to the variant that reads it";
  expect_broken([&](Variant& v) { v.score([=](Expr s, Position p) { return s * slope(p.head); }); },
                {"score step 1", "the table 'slope'", rule, "v.table<float>(\"slope\""});
  // The same name with another shape or type is another table.
  expect_broken(
      [&](Variant& v) {
        v.table<float>("slope", {axis::head, axis::any});
        v.score([=](Expr s, Position p) { return s * slope(p.head); });
      },
      {"score step 1", "the table 'slope'", rule, "declare it"});
  expect_broken(
      [&](Variant& v) {
        v.table<int>("slope", {axis::head});
        v.score([=](Expr s, Position p) { return s * slope(p.head); });
      },
      {"score step 1", "the table 'slope'", rule, "declare it"});
  expect_broken([&](Variant& v) { v.score([=](Expr s, Position) { return s * cap; }); },
                {"score step 1", "built from 'cap'", "declared parameters", "v.scalar<float>"});
}

TEST(Expressions, HaveNoStateOfTheirOwn) {
  const char* rule = "reads no Func, image or state";
  Halide::Func f("table_of_mine");
  Halide::Var x("x");
  f(x) = cast<float>(x);
  expect_broken([&](Variant& v) { v.score([&](Expr s, Position p) { return s + f(p.k); }); },
                {"score step 1", "a call of 'table_of_mine", rule, "v.table<float>"});
  Halide::Buffer<float> buffer(16, "numbers");
  expect_broken([&](Variant& v) { v.score([&](Expr s, Position p) { return s + buffer(p.k); }); },
                {"score step 1", "a call of 'numbers'", rule, "v.table<float>"});
  // Not functions of the position, although Halide calls them pure.
  expect_broken(
      [](Variant& v) { v.score([](Expr s, Position) { return s + Halide::random_float(); }); },
      {"score step 1", "a call of 'random'", rule, "v.table<float>"});
  expect_broken(
      [](Variant& v) { v.score([](Expr s, Position) { return s + Halide::undef<float>(); }); },
      {"score step 1", "a call of 'undef'", rule, "v.table<float>"});
  expect_broken(
      [](Variant& v) { v.score([](Expr s, Position) { return Halide::print(s, "score"); }); },
      {"score step 1", "a call of '", rule, "v.table<float>"});
}

// Errors that Halide raises while an author's code runs carry the place.
TEST(Expressions, ErrorsOfHalideAreWrapped) {
  const char* fix = "expressions of one type";
  expect_broken([](Variant& v) { v.keep([](Position p) { return (p.k <= p.q) && p.q; }); },
                {"mask 1", "not a valid expression", "bool", fix});
  expect_broken(
      [](Variant& v) { v.score([](Expr s, Position p) { return Halide::select(p.q, s, s); }); },
      {"score step 1", "not a valid expression", "", fix});
  expect_broken([](Variant& v) { v.score([](Expr s, Position) { return s + Expr(); }); },
                {"score step 1", "not a valid expression", "", fix});
  expect_broken(
      [](Variant& v) { v.keep([](Position p) { return cast<uint8_t>(p.q) + 300 < p.k; }); },
      {"mask 1", "not a valid expression", "300", fix});
  expect_broken([](Variant& v) { v.keep(masks::causal() & [](Position p) { return p.q; }); },
                {"mask 1", "not a valid expression", "bool", fix});
}

TEST(Parameters, TakePartInTheVariant) {
  expect_broken([](Variant& v) { v.scalar<float>("cap"); },
                {"scalar", "'cap', declared but not used", "takes part", "remove"});
  expect_broken([](Variant& v) { v.table<float>("slope", {axis::head}); },
                {"table", "'slope', declared but not used", "takes part", "remove"});
}

TEST(Ranges, HoldAtLeastOneNumber) {
  const auto refused = [](const char* value, const std::function<void(const Scalar<float>&)>& f) {
    SCOPED_TRACE(value);
    expect_broken([&](Variant& v) { f(v.scalar<float>("x")); },
                  {"scalar 'x'", value, "at least one number", "smaller bound first"});
  };
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  refused("[2, 1]", [](const auto& s) { s.between(2, 1); });
  refused("(0, -1]", [](const auto& s) { s.at_most(-1).positive(); });
  refused("(0, 0]", [](const auto& s) { s.positive().at_most(0); });
  refused("[3, 2]", [](const auto& s) { s.at_least(3).at_most(2); });
  refused("[nan, inf]", [](const auto& s) { s.at_least(nan); });
  refused("[-inf, nan]", [](const auto& s) { s.at_most(nan); });
  refused("[inf, inf]", [](const auto& s) { s.at_least(inf); });
  refused("[-inf, -inf]", [](const auto& s) { s.at_most(-inf); });
  expect_broken([](Variant& v) { v.scalar<int>("n").positive().at_most(0); },
                {"scalar 'n'", "(0, 0]", "at least one number", "smaller bound first"});
  // Integers keep clear of the ends of 32 bits.
  expect_broken([](Variant& v) { v.scalar<int>("n").at_least(1073741825); },
                {"scalar 'n'", "[1073741825, 1073741824]", "at least one number", "smaller"});
}

TEST(Ranges, AreIntersected) {
  Variant v("sample");
  const auto range_of = [&](const char* name) -> const Parameter& {
    return *v.find_parameter(name);
  };
  v.scalar<float>("a").at_least(3).positive();
  EXPECT_EQ(range_of("a").minimum, 3);
  EXPECT_FALSE(range_of("a").exclusive_minimum);
  v.scalar<float>("b").positive().at_least(0).at_most(8).at_most(9);
  EXPECT_EQ(range_of("b").minimum, 0);
  EXPECT_TRUE(range_of("b").exclusive_minimum);
  EXPECT_EQ(range_of("b").maximum, 8);
  v.scalar<int>("c").positive().between(-4, 4).at_least(2);
  EXPECT_EQ(range_of("c").minimum, 2);
  EXPECT_FALSE(range_of("c").exclusive_minimum);
  EXPECT_EQ(range_of("c").maximum, 4);
  v.scalar<int>("n").at_most(2147483647);
  EXPECT_EQ(range_of("n").minimum, -largest_integer);
  EXPECT_EQ(range_of("n").maximum, largest_integer);
  v.scalar<int>("e").between(1, 1);
  EXPECT_EQ(range_of("e").minimum, range_of("e").maximum);
}

// The mask of a declaration as a picture: one string per query, '#' where the key is visible.
std::vector<std::string> picture(const Expr& mask, int length) {
  std::vector<std::string> rows;
  for (int q = 0; q < length; ++q) {
    std::string row;
    for (int k = 0; k < length; ++k) {
      Environment<double> at;
      at.variables["q"] = Lanes<double>::integer(q);
      at.variables["k"] = Lanes<double>::integer(k);
      row += evaluate(mask, at).integers.at(0) ? '#' : '.';
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(Composition, MasksCombine) {
  using Rows = std::vector<std::string>;
  const auto mask_of = [](const Mask& m) {
    return picture(declared([&](Variant& v) { v.keep(m); }).mask(), 4);
  };
  EXPECT_EQ(mask_of(masks::causal()), (Rows{"#...", "##..", "###.", "####"}));
  EXPECT_EQ(mask_of(!masks::causal()), (Rows{".###", "..##", "...#", "...."}));
  EXPECT_EQ(mask_of(masks::causal() & !masks::first_tokens(1)),
            (Rows{"....", ".#..", ".##.", ".###"}));
  EXPECT_EQ(mask_of(masks::last_tokens(2) | masks::first_tokens(1)),
            (Rows{"#...", "##..", "###.", "#.##"}));
  EXPECT_EQ(mask_of(masks::window(1, 0) & masks::full()), (Rows{"#...", "##..", ".##.", "..##"}));
  EXPECT_EQ(mask_of(masks::window(0, 2)), (Rows{"###.", ".###", "..##", "...#"}));
  EXPECT_EQ(mask_of(masks::chunked(2)), (Rows{"##..", "##..", "..##", "..##"}));
  EXPECT_EQ(mask_of(masks::causal() | [](Position p) { return p.k == 3; }),
            (Rows{"#..#", "##.#", "####", "####"}));
}

TEST(Composition, KeepsAreAndedAndDefaultToTrue) {
  using Rows = std::vector<std::string>;
  EXPECT_EQ(picture(declared([](Variant&) {}).mask(), 2), (Rows{"##", "##"}));
  const Variant two = declared([](Variant& v) {
    v.keep(masks::causal());
    v.keep(!masks::first_tokens(1));
  });
  EXPECT_EQ(picture(two.mask(), 3), (Rows{"...", ".#.", ".##"}));
}

TEST(Composition, ScoreStepsApplyInOrder) {
  const auto chain_at = [](const Variant& v, double score) {
    Environment<double> at;
    at.variables["score"] = Lanes<double>::real(score);
    return evaluate(v.score_chain(), at).reals.at(0);
  };
  EXPECT_EQ(chain_at(declared([](Variant&) {}), 5), 5);
  const auto twice = [](Expr s, Position) { return s * 2.0f; };
  const auto plus_one = [](Expr s, Position) { return s + 1.0f; };
  EXPECT_EQ(chain_at(declared([&](Variant& v) {
                       v.score(twice);
                       v.score(plus_one);
                     }),
                     5),
            11);
  EXPECT_EQ(chain_at(declared([&](Variant& v) {
                       v.score(plus_one);
                       v.score(twice);
                     }),
                     5),
            12);
}

// A copy is another value: what is declared on it later does not reach the original.
TEST(Value, CopiesAreIndependent) {
  const Variant original = declared([](Variant& v) { v.keep(masks::causal()); });
  Variant copy = original;
  copy.keep(masks::first_tokens(2));
  copy.returns(lse);
  EXPECT_NE(copy.canonical_text(), original.canonical_text());
  EXPECT_FALSE(original.returns_lse());
}

}  // namespace
}  // namespace fovea
