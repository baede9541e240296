// add_a_variant_test.cpp: what docs/add-a-variant.md says of declarations is what fovea says of
// them. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl.h>
#include <fovea/dsl/diagnostics.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "generators/describe/variant_text.h"
#include "generators/emit/files.h"

namespace fovea {
namespace {

// FOVEA_TEST_DOCS is the folder of the pages, set by the build.
std::string page(const char* name) {
  return read_file(std::filesystem::path(FOVEA_TEST_DOCS) / name);
}

TEST(Pieces, EachStandsBelowItsFormula) {
  const std::string source = page("snippets/pieces.cpp");
  const std::vector<Variant> variants = declared_variants();
  EXPECT_EQ(variants.size(), 12u);
  for (const Variant& v : variants) {
    std::string block = "\n\n";
    for (const Step& s : variant_steps(v)) {
      if (s.declared) block += "// " + s.text + "\n";
    }
    block += "FOVEA_VARIANT(" + v.name() + ", v)";
    EXPECT_NE(source.find(block), std::string::npos) << "the source does not have" << block;
  }
}

struct Mistake {
  const char* code;
  std::function<void(Variant&)> declare;
};

Halide::Var undeclared("window");

const Mistake mistakes[] = {
    {"v.score([](Expr s, Position p) { return p.q - p.k; })",
     [](Variant& v) { v.score([](Expr, Position p) { return p.q - p.k; }); }},
    {"v.keep([](Position p) { return p.q - p.k; })",
     [](Variant& v) { v.keep([](Position p) { return p.q - p.k; }); }},
    {"Halide::Var window; v.keep([=](Position p) { return p.q - p.k < window; })",
     [](Variant& v) { v.keep([](Position p) { return p.q - p.k < undeclared; }); }},
    {"v.scalar<int>(\"q\")", [](Variant& v) { v.scalar<int>("q"); }},
    {"v.scalar<int>(\"window\"), never used", [](Variant& v) { v.scalar<int>("window"); }},
    {"slope(p.batch, p.head), slope of one axis",
     [](Variant& v) {
       auto slope = v.table<float>("slope", {axis::head});
       v.score([=](Expr s, Position p) { return s + slope(p.batch, p.head); });
     }},
    {"bias(s)",
     [](Variant& v) {
       auto bias = v.table<float>("bias", {axis::any});
       v.score([=](Expr s, Position) { return bias(s); });
     }},
    {"v.query([=](const Row& x, Expr d, Position p) { return x(d) * bias(p.k); })",
     [](Variant& v) {
       auto bias = v.table<float>("bias", {axis::key});
       v.query([=](const Row& x, Expr d, Position p) { return x(d) * bias(p.k); });
     }},
    {"v.key([=](const Row& x, Expr d, Position p) { return x(d) * gain(p.head); })",
     [](Variant& v) {
       auto gain = v.table<float>("gain", {axis::head});
       v.key([=](const Row& x, Expr d, Position p) { return x(d) * gain(p.head); });
     }},
    {"v.normalize(sigmoid().sink(sink))",
     [](Variant& v) { v.normalize(sigmoid().sink(v.table<float>("sink", {axis::head}))); }},
    {"v.normalize(relu()); v.returns(lse)",
     [](Variant& v) {
       v.normalize(relu());
       v.returns(lse);
     }},
};

TEST(Mistakes, TheTableQuotesTheMessages) {
  const std::string text = page("add-a-variant.md");
  for (const Mistake& m : mistakes) {
    Variant v("mistake");
    try {
      m.declare(v);
      v.check();
      ADD_FAILURE() << "no mistake: " << m.code;
    } catch (const DeclarationError& error) {
      const std::string row = fmt::format("| `{}` | {} is {} | {} | {} |\n", m.code, error.field(),
                                          error.value(), error.rule(), error.fix());
      EXPECT_NE(text.find(row), std::string::npos) << "the page has no row\n" << row;
    }
  }
}

}  // namespace
}  // namespace fovea
