// declaration_rules_test.cpp: what each part of a declaration may be built from, every rule broken
// once, with the whole message. SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/diagnostics.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace fovea {
namespace {

using Body = std::function<void(Variant&)>;
using Exprs = std::vector<Expr>;

// The message without "variant 'broken': "; empty if the declaration is accepted.
std::string message_of(const Body& body) {
  const std::string start = "variant 'broken': ";
  try {
    Variant v("broken");
    body(v);
    v.check();
  } catch (const DeclarationError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.substr(0, start.size()), start);
    return text.substr(start.size());
  }
  return "";
}

std::string message(const std::string& what, const std::string& rule, const std::string& fix) {
  return what + "\n  rule: " + rule + "\n  fix:  " + fix;
}

const char* const only_float =
    "wrap integers and doubles in cast<float>(…), and choose between numbers with "
    "select(condition, a, b)";

Expr field(const Position& p, const std::string& name) {
  if (name == "q") return p.q;
  if (name == "k") return p.k;
  if (name == "row") return p.row;
  if (name == "head") return p.head;
  return name == "kv_head" ? p.kv_head : p.batch;
}

RowTransform plus(const std::string& name) {
  return [=](const Row& row, Expr d, const Position& p) {
    return row(d) + cast<float>(field(p, name));
  };
}

TEST(TransformRules, QueriesKnowNoKey) {
  EXPECT_EQ(
      message_of([](Variant& v) { v.query(plus("k")); }),
      message("query transform 1 is built from 'k'", "a query transform knows one query and no key",
              "what depends on the key belongs into v.key, on both into v.score"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.output(plus("q"));
              v.output(plus("k"));
            }),
            message("output transform 2 is built from 'k'",
                    "an output transform knows one query and no key",
                    "what depends on the key belongs into v.value, on both into v.weight_factor"));
  for (const char* name : {"q", "row", "head", "kv_head", "batch"}) {
    EXPECT_EQ(message_of([&](Variant& v) { v.query(plus(name)); }), "");
    EXPECT_EQ(message_of([&](Variant& v) { v.output(plus(name)); }), "");
  }
}

TEST(TransformRules, KeysKnowNoQuery) {
  for (const std::string name : {"q", "row", "head"}) {
    EXPECT_EQ(message_of([&](Variant& v) { v.key(plus(name)); }),
              message("key transform 1 is built from '" + name + "'",
                      "a key transform knows one key of one KV head and no query",
                      "use p.k and p.kv_head; what depends on the query belongs into v.score"));
    EXPECT_EQ(message_of([&](Variant& v) { v.value(plus(name)); }),
              message("value transform 1 is built from '" + name + "'",
                      "a value transform knows one key of one KV head and no query",
                      "use p.k and p.kv_head; what depends on the query belongs into v.output, "
                      "on both into v.weight_factor"));
  }
  for (const char* name : {"k", "kv_head", "batch"}) {
    EXPECT_EQ(message_of([&](Variant& v) { v.key(plus(name)); }), "");
    EXPECT_EQ(message_of([&](Variant& v) { v.value(plus(name)); }), "");
  }
}

TEST(TransformRules, MakeFloats) {
  const RowTransform integer = [](const Row&, Expr d, const Position&) { return d; };
  const RowTransform undefined = [](const Row&, Expr, const Position&) { return Expr(); };
  const RowTransform truth = [](const Row& row, Expr d, const Position&) { return row(d) > 0.0f; };
  EXPECT_EQ(message_of([&](Variant& v) { v.query(integer); }),
            message("query transform 1 is of type int32",
                    "a query transform is a float32 expression", only_float));
  EXPECT_EQ(message_of([&](Variant& v) { v.output(undefined); }),
            message("output transform 1 is undefined",
                    "an output transform is a float32 expression", only_float));
  EXPECT_EQ(message_of([&](Variant& v) { v.value(truth); }),
            message("value transform 1 is of type bool",
                    "a value transform is a float32 expression", only_float));
  EXPECT_EQ(message_of([](Variant& v) { v.key(RowTransform()); }),
            message("key transform 1 is an empty function", "a key transform is made by a function",
                    "pass a lambda"));
}

TEST(RowRules, RowsAreReadWithIntegers) {
  const auto read = [](Expr index) {
    return [=](Variant& v) {
      v.key([=](const Row& row, Expr, const Position&) { return row(index); });
    };
  };
  const char* rule = "an index is an integer expression";
  const char* fix = "use d, d + 1, row.size() - d, …";
  EXPECT_EQ(message_of(read(1.0f)),
            message("key transform 1 is a row read with an index of type float32", rule, fix));
  EXPECT_EQ(message_of(read(Expr())),
            message("key transform 1 is a row read with an index that is undefined", rule, fix));
  EXPECT_EQ(message_of(read(symbolic_position().k > 0)),
            message("key transform 1 is a row read with an index of type bool", rule, fix));
}

TEST(RowRules, ReductionsHaveFloatTermsAndDoNotNest) {
  const auto reduced = [](const std::function<Expr(const Row&, Expr)>& term) {
    return [=](Variant& v) {
      v.query([=](const Row& row, Expr, const Position&) {
        return row.sum([&](Expr j) { return term(row, j); });
      });
    };
  };
  EXPECT_EQ(message_of(reduced([](const Row&, Expr j) { return j; })),
            message("query transform 1 is a row reduction whose term is of type int32",
                    "a term is a float32 expression", "wrap it in cast<float>(…)"));
  EXPECT_EQ(message_of(reduced([](const Row& row, Expr) { return row.mean_square(); })),
            message("query transform 1 is a row reduction inside a row reduction",
                    "a term reads entries, tables and the position",
                    "split the transform into two: the second sees the rows of the first"));
}

TEST(RowRules, TheIndexStaysInItsReduction) {
  const char* rule = "the index of a reduction exists inside the term only";
  // With the reduction that it comes from beside it, in a shared expression.
  EXPECT_EQ(message_of([](Variant& v) {
              v.query([](const Row& row, Expr, const Position&) {
                Expr leaked;
                const Expr sum = row.sum([&](Expr j) { return leaked = row(j); });
                return sum + leaked;
              });
            }),
            message("query transform 1 is built from the index of a row reduction outside of it",
                    rule, "read the row at d, or move the expression into the term"));
  Expr leaked;
  EXPECT_EQ(message_of([&](Variant& v) {
              v.query([&](const Row& row, Expr, const Position&) {
                return row.sum([&](Expr j) {
                  leaked = j;
                  return row(j);
                });
              });
              v.keep([&](const Position& p) { return p.k < leaked; });
            }),
            message("mask 1 is built from the index of a row reduction", rule,
                    "a row is read inside the transform that it was passed to"));
}

TEST(RowRules, RowsAreReadInTransformsOnly) {
  Expr entry;
  const auto leak = [&](Variant& v) {
    v.query([&](const Row& row, Expr d, const Position&) { return entry = row(d); });
  };
  EXPECT_EQ(message_of([&](Variant& v) {
              leak(v);
              const Expr first = Row("broken", "outside")(0);
              v.score([=](Expr s, const Position&) { return s + first; });
            }),
            message("score step 1 is built from a row of features",
                    "a score step depends on the score, the position and on parameters",
                    "a row is read inside the transform that it was passed to"));
  // The feature that a transform computes.
  EXPECT_EQ(
      message_of([&](Variant& v) {
        leak(v);
        v.keep([&](const Position&) { return entry > 0.0f; });
      }),
      message("mask 1 is built from 'd'", "a mask depends on the position and on parameters only",
              "features are read in v.query, v.key, v.value and v.output"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.score([](Expr s, const Position&) { return s * cast<float>(symbolic_feature()); });
            }),
            message("score step 1 is built from 'd'",
                    "a score step depends on the score, the position and on parameters",
                    "features are read in v.query, v.key, v.value and v.output"));
}

TEST(ScoreRules, TheScoreIsKnownToStepsAndWeights) {
  const Expr s = symbolic_score();
  const char* fix = "what depends on the score belongs into v.score, a condition on it as a select";
  EXPECT_EQ(message_of([=](Variant& v) { v.keep([=](const Position&) { return s > 0.0f; }); }),
            message("mask 1 is built from 'score'",
                    "a mask depends on the position and on parameters only", fix));
  EXPECT_EQ(message_of([=](Variant& v) { v.weight_factor([=](const Position&) { return s; }); }),
            message("weight factor is built from 'score'",
                    "a weight factor depends on the position and on parameters only", fix));
  EXPECT_EQ(
      message_of(
          [=](Variant& v) { v.normalize(softmax().sink([=](const Position&) { return s; })); }),
      message("sink logit is built from 'score'", "a sink logit knows one query and no key", fix));
}

TEST(NormalizerRules, SinksAndDivisorsKnowNoKey) {
  EXPECT_EQ(message_of([](Variant& v) {
              v.normalize(softmax().sink([](const Position& p) { return cast<float>(p.k); }));
            }),
            message("sink logit is built from 'k'", "a sink logit knows one query and no key",
                    "what depends on the key belongs into v.score"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.normalize(identity().divided_by(
                  [](Expr sum, const Position& p) { return sum + cast<float>(p.k); }));
            }),
            message("weight divisor is built from 'k'",
                    "a divisor depends on the sum of weights and on one query",
                    "what depends on the key belongs into the weight"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.score([](Expr s, const Position&) { return s / symbolic_weight_sum(); });
            }),
            message("score step 1 is built from 'sum'",
                    "a score step depends on the score, the position and on parameters",
                    "the sum of weights is read inside the function of divided_by"));
}

TEST(NormalizerRules, PartsMakeFloats) {
  EXPECT_EQ(
      message_of([](Variant& v) {
        v.normalize(softmax().sink([](const Position& p) { return p.head; }));
      }),
      message("sink logit is of type int32", "a sink logit is a float32 expression", only_float));
  EXPECT_EQ(
      message_of([](Variant& v) {
        v.normalize(weights([](Expr s, const Position&) { return s > 0.0f; }));
      }),
      message("weight function is of type bool", "a weight is a float32 expression", only_float));
  EXPECT_EQ(
      message_of([](Variant& v) {
        v.normalize(relu().divided_by([](Expr, const Position& p) { return p.kv_len; }));
      }),
      message("weight divisor is of type int32", "a divisor is a float32 expression", only_float));
  EXPECT_EQ(message_of([](Variant& v) {
              v.weight_factor([](const Position& p) { return cast<double>(p.k); });
            }),
            message("weight factor is of type float64", "a weight factor is a float32 expression",
                    only_float));
}

TEST(NormalizerRules, PartsBelongToTheirKind) {
  const auto zero = [](const Position&) { return Expr(0.0f); };
  EXPECT_EQ(message_of([&](Variant& v) { v.normalize(relu().sink(zero)); }),
            message("normalizer is weights(…) with a sink", "a sink joins the sum of a softmax",
                    "use softmax().sink(…), or add to the sum in divided_by"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.normalize(softmax().divided_by([](Expr sum, const Position&) { return sum; }));
            }),
            message("normalizer is softmax() with divided_by",
                    "a softmax divides by the sum of its weights",
                    "use weights(f).divided_by(g), or v.output"));
  EXPECT_EQ(message_of([](Variant& v) { v.normalize(weights({})); }),
            message("normalizer is weights(…) without a function",
                    "a weight is a function of the score and the position",
                    "write weights([=](Expr s, Position p) { return …; })"));
}

TEST(NormalizerRules, WeightsMayIgnoreTheScore) {
  EXPECT_EQ(message_of([](Variant& v) {
              v.normalize(weights([](Expr, const Position& p) { return cast<float>(p.k); }));
            }),
            "");
}

TEST(Once, PartsOfWhichThereIsOne) {
  EXPECT_EQ(message_of([](Variant& v) {
              v.normalize(softmax());
              v.normalize(relu());
            }),
            message("normalizer is declared twice", "a variant has one normalizer",
                    "keep one of the calls of v.normalize"));
  const auto one = [](const Position&) { return Expr(1.0f); };
  EXPECT_EQ(message_of([&](Variant& v) {
              v.weight_factor(one);
              v.weight_factor(one);
            }),
            message("weight factor is declared twice", "a variant has one weight factor",
                    "return the product of both from one function"));
  const auto sum = [](const Exprs& o, const Position&) { return o[0] + o[1]; };
  EXPECT_EQ(message_of([&](Variant& v) {
              v.slices(2, sum);
              v.slices(2, sum);
            }),
            message("slices is declared twice", "the rows of a variant are cut once",
                    "keep one of the calls of v.slices"));
}

TEST(Once, Prose) {
  const std::vector<std::pair<std::string, std::function<void(Variant&, std::string)>>> lines = {
      {"summary", [](Variant& v, std::string text) { v.summary(std::move(text)); }},
      {"source", [](Variant& v, std::string text) { v.source(std::move(text)); }},
      {"family", [](Variant& v, std::string text) { v.family(std::move(text)); }}};
  for (const auto& [name, set] : lines) {
    EXPECT_EQ(message_of([&, &put = set](Variant& v) {
                put(v, "one");
                put(v, "two");
              }),
              message(name + " is 'two', declared twice", "a variant has one " + name,
                      "keep one of the calls of v." + name));
    EXPECT_EQ(message_of([&, &put = set](Variant& v) { put(v, " "); }),
              message(name + " is empty", "one line of text", "say it, or leave it out"));
  }
  EXPECT_EQ(message_of([](Variant& v) {
              v.note("one");
              v.note("two");
            }),
            "");
  EXPECT_EQ(message_of([](Variant& v) { v.scalar<float>("cap").describe("a").describe("b"); }),
            message("description of 'cap' is 'b', given twice", "a parameter has one description",
                    "keep one of the calls of describe"));
}

TEST(SliceRules, TwoToFour) {
  const auto first = [](const Exprs& o, const Position&) { return o[0]; };
  for (const int count : {-1, 0, 1, 5}) {
    EXPECT_EQ(message_of([&](Variant& v) { v.slices(count, first); }),
              message("slices is " + std::to_string(count) + " slices of a row", "2 to 4",
                      "leave v.slices out for plain attention"));
  }
  for (const int count : {2, 3, 4}) {
    EXPECT_EQ(message_of([&](Variant& v) { v.slices(count, first); }), "");
  }
}

TEST(SliceRules, CombinationsKnowOneQuery) {
  EXPECT_EQ(message_of([](Variant& v) {
              v.slices(2,
                       [](const Exprs& o, const Position& p) { return o[0] * cast<float>(p.k); });
            }),
            message("slice combination is built from 'k'",
                    "a combination knows the outputs of the slices and one query",
                    "what depends on the key belongs into v.score"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.slices(2, [](const Exprs& o, const Position&) { return o[0] > o[1]; });
            }),
            message("slice combination is of type bool", "a combination is a float32 expression",
                    only_float));
  // With a slice of another cut, and outside of the combination.
  EXPECT_EQ(message_of([](Variant& v) {
              v.slices(2, [](const Exprs& o, const Position&) {
                return o[0] + Variant::symbolic_slice(2);
              });
            }),
            message("slice combination is built from the output of a slice",
                    "a combination knows the outputs of the slices and one query",
                    "outputs of slices are read inside the function passed to v.slices"));
  EXPECT_EQ(message_of([](Variant& v) {
              v.output([](const Row& row, Expr d, const Position&) {
                return row(d) * Variant::symbolic_slice(0);
              });
            }),
            message("output transform 1 is built from the output of a slice",
                    "an output transform knows one query and no key",
                    "outputs of slices are read inside the function passed to v.slices"));
  // Together with output transforms, tables over features and the query's position.
  EXPECT_EQ(message_of([](Variant& v) {
              const auto lambda = v.table<float>("lambda", {axis::value_feature});
              v.slices(2, [=](const Exprs& o, const Position& p) {
                return o[0] - lambda(symbolic_feature()) * o[1] * cast<float>(p.head);
              });
              v.output([](const Row& row, Expr d, const Position&) { return row(d) * 2.0f; });
            }),
            "");
}

TEST(OutputRules, FitTheNormalizer) {
  const auto returning = [](const Normalizer& n, Output output) {
    return message_of([&](Variant& v) {
      v.normalize(n);
      v.returns(output);
    });
  };
  EXPECT_EQ(returning(sigmoid(), lse),
            message("returns is lse", "a log-sum of exponentials belongs to a softmax",
                    "return row_sum"));
  EXPECT_EQ(returning(sigmoid(), row_max),
            message("returns is row_max", "only a softmax looks for its largest score",
                    "return row_sum"));
  for (const Output output : {row_sum, probabilities}) EXPECT_EQ(returning(relu(), output), "");
  for (const Output output : {lse, row_max, row_sum, probabilities}) {
    EXPECT_EQ(returning(softmax(), output), "");
    EXPECT_EQ(message_of([&](Variant& v) {
                v.slices(2, [](const Exprs& o, const Position&) { return o[0] - o[1]; });
                v.returns(output);
              }),
              message("returns is an extra output",
                      "with slices, several sets of weights belong to one row",
                      "leave the extra outputs out"));
  }
}

TEST(TableRules, OfBool) {
  EXPECT_EQ(
      message_of([](Variant& v) {
        const auto allowed = v.table<bool>("allowed", {axis::row, axis::key});
        const auto bias = v.table<float>("bias", {axis::any});
        v.score([=](Expr s, const Position& p) { return s + bias(allowed(p.row, p.k)); });
      }),
      message("table 'bias' is read with index 0 of type bool", "an index is an integer expression",
              "use p.head, p.q - p.k, … or cast<int>(…)"));
  EXPECT_EQ(
      message_of([](Variant& v) {
        const auto allowed = v.table<bool>("allowed", {axis::row, axis::key});
        v.score([=](Expr, const Position& p) { return allowed(p.row, p.k); });
      }),
      message("score step 1 is of type bool", "a score step is a float32 expression", only_float));
  // A handle of the same name and another entry type.
  Variant other("other");
  const auto numbers = other.table<int>("allowed", {axis::row, axis::key});
  EXPECT_EQ(message_of([&](Variant& v) {
              v.table<bool>("allowed", {axis::row, axis::key});
              v.keep([=](const Position& p) { return numbers(p.row, p.k) != 0; });
            }),
            message("mask 1 is built from the table 'allowed'",
                    "a table belongs to the variant that reads it",
                    "declare it: auto allowed = v.table<float>(\"allowed\", {axis::head})"));
  EXPECT_EQ(
      message_of([](Variant& v) {
        const auto allowed = v.table<bool>("allowed", {axis::row, axis::key});
        v.keep([=](const Position& p) { return allowed(p.row, p.k); });
        v.score([=](Expr s, const Position& p) { return select(allowed(p.row, p.k), s, 0.0f); });
      }),
      "");
}

TEST(TableRules, Extents) {
  EXPECT_EQ(message_of([](Variant& v) {
              const auto t = v.table<int>("ids", {axis::any});
              v.keep([=](const Position& p) { return p.k < t.extent(1); });
            }),
            message("table 'ids' is asked for the extent of axis 1", "it is declared with 1 axes",
                    "count axes from 0"));
  Variant other("other");
  const auto foreign = other.table<int>("ids", {axis::any});
  EXPECT_EQ(message_of([&](Variant& v) {
              v.keep([=](const Position& p) { return p.k < foreign.extent(); });
            }),
            message("mask 1 is built from the extent of the table 'ids'",
                    "a table belongs to the variant that reads it",
                    "use the handle that this variant's v.table returned"));
  // The extent alone is a use.
  EXPECT_EQ(message_of([](Variant& v) {
              const auto t = v.table<int>("ids", {axis::any});
              v.keep([=](const Position& p) { return p.k < t.extent(); });
            }),
            "");
}

TEST(Uses, OfParametersInEveryPart) {
  const std::vector<std::function<void(Variant&, const Scalar<float>&)>> parts = {
      [](Variant& v, const Scalar<float>& x) {
        v.query([=](const Row& row, Expr d, const Position&) { return row(d) * x; });
      },
      [](Variant& v, const Scalar<float>& x) {
        v.key([=](const Row& row, Expr, const Position&) {
          return row.sum([=](Expr j) { return row(j) * x; });
        });
      },
      [](Variant& v, const Scalar<float>& x) {
        v.value([=](const Row& row, Expr d, const Position&) { return row(d) * x; });
      },
      [](Variant& v, const Scalar<float>& x) {
        v.output([=](const Row& row, Expr d, const Position&) { return row(d) * x; });
      },
      [](Variant& v, const Scalar<float>& x) {
        v.normalize(softmax().sink([=](const Position&) { return Expr(x); }));
      },
      [](Variant& v, const Scalar<float>& x) {
        v.normalize(weights([=](Expr s, const Position&) { return s * x; }));
      },
      [](Variant& v, const Scalar<float>& x) {
        v.normalize(relu().divided_by([=](Expr, const Position&) { return Expr(x); }));
      },
      [](Variant& v, const Scalar<float>& x) {
        v.weight_factor([=](const Position&) { return Expr(x); });
      },
      [](Variant& v, const Scalar<float>& x) {
        v.slices(2, [=](const Exprs& o, const Position&) { return o[0] - x * o[1]; });
      }};
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(message_of([&](Variant& v) { parts[i](v, v.scalar<float>("x")); }), "") << i;
    // Of another variant, in the same place.
    Variant other("other");
    const Scalar<float> foreign = other.scalar<float>("x");
    EXPECT_NE(message_of([&](Variant& v) { parts[i](v, foreign); }).find("built from 'x'"),
              std::string::npos)
        << i;
  }
  EXPECT_EQ(message_of([](Variant& v) { v.scalar<float>("x"); }),
            message("scalar is 'x', declared but not used",
                    "every parameter takes part in a step, a mask or another function",
                    "use it, or remove its declaration"));
}

TEST(Examples, ScalarsKeepTheirRange) {
  const auto scalar = [](const std::function<void(const Scalar<float>&)>& f) {
    return message_of([&](Variant& v) {
      const auto x = v.scalar<float>("cap").positive().at_most(50);
      f(x);
      v.score([=](Expr s, const Position&) { return s * x; });
    });
  };
  const char* rule = "a number in (0, 50]";
  const char* fix = "give a value of the declared range for every shape";
  EXPECT_EQ(scalar([](const auto& x) { x.example(0); }),
            message("example of 'cap' is 0", rule, fix));
  EXPECT_EQ(scalar([](const auto& x) { x.example(51); }),
            message("example of 'cap' is 51", rule, fix));
  EXPECT_EQ(scalar([](const auto& x) { x.example(std::numeric_limits<float>::quiet_NaN()); }),
            message("example of 'cap' is nan", rule, fix));
  EXPECT_EQ(scalar([](const auto& x) {
              x.example([](const ExampleShape& s) { return static_cast<double>(-s.heads); });
            }),
            message("example of 'cap' is -4", rule, fix));
  EXPECT_EQ(scalar([](const auto& x) { x.example(50); }), "");
  EXPECT_EQ(message_of([](Variant& v) {
              const auto n = v.scalar<int>("n").at_least(1);
              n.example([](const ExampleShape&) { return 2.5; });
              v.keep([=](const Position& p) { return p.k < n; });
            }),
            message("example of 'n' is 2.5", "an integer in [1, 1073741824]", fix));
}

TEST(Examples, EntriesAreWhatACallerMayPass) {
  using Index = std::vector<int64_t>;
  const auto with_entry = [](auto type,
                             const std::function<double(const ExampleShape&, const Index&)>& f) {
    return message_of([&](Variant& v) {
      const auto t = v.table<decltype(type)>("t", {axis::head, axis::any});
      t.example(f).example_extent([](const ExampleShape& s) { return s.kv_len; });
      v.score([=](Expr s, const Position& p) {
        return select(t(p.head, p.k) != cast<decltype(type)>(0), s, 0.0f);
      });
    });
  };
  const char* fix = "give an entry that a caller may pass for every index";
  const auto last = [](double at_the_end) {
    return [=](const ExampleShape& s, const Index& i) {
      return i.at(0) == s.heads - 1 && i.at(1) == s.kv_len - 1 ? at_the_end : 1;
    };
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(with_entry(float(), last(nan)),
            message("example of 't' is nan at (3, 4)", "a number, or an infinity", fix));
  EXPECT_EQ(with_entry(float(), last(-std::numeric_limits<double>::infinity())), "");
  const char* integers = "an integer in [-1073741824, 1073741824]";
  EXPECT_EQ(with_entry(int(), last(0.5)),
            message("example of 't' is 0.5 at (3, 4)", integers, fix));
  EXPECT_EQ(with_entry(int(), last(1073741825)),
            message("example of 't' is 1073741825 at (3, 4)", integers, fix));
  EXPECT_EQ(with_entry(bool(), last(nan)),
            message("example of 't' is nan at (3, 4)", "a number, or an infinity", fix));
  EXPECT_EQ(with_entry(bool(), last(0)), "");
  // An index that the table does not have.
  EXPECT_EQ(with_entry(float(),
                       [](const ExampleShape&, const Index& i) {
                         if (i.size() < 3) throw std::out_of_range("no third index");
                         return 0.0;
                       }),
            message("example of 't' is an exception: no third index",
                    "an example is a number for every shape",
                    "use one index for each axis of the table, and no other"));
}

TEST(Examples, ExtentsBelongToFreeAxes) {
  const auto with_extent = [](const Axis& a, int64_t extent) {
    return message_of([&](Variant& v) {
      const auto t = v.table<float>("t", {a});
      t.example_extent([=](const ExampleShape&) { return extent; });
      v.score([=](Expr s, const Position& p) { return s + t(p.k); });
    });
  };
  EXPECT_EQ(with_extent(axis::any, 7), "");
  EXPECT_EQ(with_extent(axis::any, 0),
            message("example extent of 't' is 0", "1 to 2147483647 entries",
                    "give at least one entry for every shape"));
  EXPECT_EQ(with_extent(axis::key, 7),
            message("example extent of 't' is given for a table without a free axis",
                    "the extents of other axes follow from the shape",
                    "leave it out, or declare axis::any"));
}

}  // namespace
}  // namespace fovea
