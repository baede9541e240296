// register_test.cpp: the list of declarations of a program, and how their errors are reported.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/diagnostics.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fovea {
namespace {

using ::testing::HasSubstr;

FOVEA_VARIANT(second_of_three, v) { v.keep(masks::causal()); }
FOVEA_VARIANT(first_of_three, v) { v.summary("declared after the second"); }
FOVEA_VARIANT(third_of_three, unused_name) {}

// Registrations last as long as the program, and a broken one makes the whole list fail: one test
// for all, in the order of the breakages.
TEST(Register, SortsAndReports) {
  const std::vector<Variant> variants = declared_variants();
  std::vector<std::string> names;
  for (const Variant& v : variants) names.push_back(v.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"first_of_three", "second_of_three", "third_of_three"}));
  EXPECT_EQ(variants[0].summary_text(), "declared after the second");
  EXPECT_THAT(variants[0].file(), HasSubstr("register_test.cpp"));
  EXPECT_GT(variants[0].line(), variants[1].line());
  // Declaring again gives equal variants.
  EXPECT_EQ(declared_variants()[1].hash(), variants[1].hash());

  const auto error_now = [] {
    try {
      declared_variants();
    } catch (const DeclarationError& error) {
      return error;
    }
    return DeclarationError("", "", "", "", "");
  };
  // The list is sorted: each broken declaration below comes before the ones above it.
  register_variant("e_unused", "e.cpp", 5, [](Variant& v) { v.scalar<int>("window"); });
  EXPECT_EQ(error_now().variant(), "e_unused");
  EXPECT_EQ(error_now().value(), "'window', declared but not used");

  register_variant("d_outside", "d.cpp", 4, [](Variant& v) {
    const Expr wrong = symbolic_position().q && symbolic_position().k;
    v.keep([=](Position) { return wrong; });
  });
  EXPECT_EQ(error_now().variant(), "d_outside");
  EXPECT_EQ(error_now().field(), "declaration");
  EXPECT_EQ(error_now().value(), "not valid at d.cpp:4");
  EXPECT_THAT(error_now().rule(), HasSubstr("bool"));

  register_variant("c_twice", "one.cpp", 1, [](Variant&) {});
  register_variant("c_twice", "two.cpp", 22, [](Variant&) {});
  EXPECT_EQ(error_now().variant(), "c_twice");
  EXPECT_EQ(error_now().field(), "name");
  EXPECT_EQ(error_now().value(), "declared at one.cpp:1 and at two.cpp:22");
  EXPECT_THAT(error_now().what(), HasSubstr("one variant of a name"));
  EXPECT_THAT(error_now().what(), HasSubstr("rename one of them"));

  register_variant("Bad", "bad.cpp", 3, [](Variant&) {});
  EXPECT_EQ(error_now().variant(), "Bad");
  EXPECT_THAT(error_now().rule(), HasSubstr("lower-case letter"));
}

}  // namespace
}  // namespace fovea
