// catalogue_test.cpp: every shipped variant is described, has examples its parameters allow, and
// gives finite answers by the reference.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <fovea/dsl/example.h>
#include <fovea/dsl/reference.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "small_problem.h"

namespace fovea {
namespace {

class Catalogue : public ::testing::Test {
 protected:
  static const std::vector<Variant>& variants() {
    static const std::vector<Variant> all = declared_variants();
    return all;
  }
  static const Variant& named(const std::string& name) {
    const auto found = std::find_if(variants().begin(), variants().end(),
                                    [&](const Variant& v) { return v.name() == name; });
    if (found == variants().end()) throw std::out_of_range("no variant " + name);
    return *found;
  }
};

TEST_F(Catalogue, EveryVariantIsDescribed) {
  std::set<std::string> summaries;
  for (const Variant& v : variants()) {
    SCOPED_TRACE(v.name());
    EXPECT_FALSE(v.summary_text().empty());
    EXPECT_LE(v.summary_text().size(), 100u) << "a summary is one line";
    EXPECT_TRUE(summaries.insert(v.summary_text()).second) << "the summary of another variant";
    EXPECT_FALSE(v.source_text().empty());
    EXPECT_FALSE(v.family_text().empty());
    EXPECT_FALSE(v.file().empty());
    for (const auto& p : v.parameters()) EXPECT_FALSE(p->description.empty()) << p->name;
  }
}

TEST_F(Catalogue, EveryFileHoldsTheVariantOfItsName) {
  for (const Variant& v : variants())
    EXPECT_THAT(v.file(), ::testing::HasSubstr("/" + v.name() + ".cpp"));
}

TEST_F(Catalogue, EveryParameterHasAnExample) {
  for (const Variant& v : variants()) {
    for (const auto& p : v.parameters()) {
      SCOPED_TRACE(v.name() + " " + p->name);
      if (p->kind == Parameter::Kind::Scalar) {
        EXPECT_TRUE(p->example_scalar);
        continue;
      }
      EXPECT_TRUE(p->example_entry);
      const bool has_open_axis = std::any_of(
          p->axes.begin(), p->axes.end(), [](const Axis& a) { return a.kind == Axis::Kind::Any; });
      EXPECT_EQ(static_cast<bool>(p->example_extent), has_open_axis);
    }
  }
}

// Examples hold for any shape: one token, decoding, fewer keys than queries, many heads.
TEST_F(Catalogue, ExamplesAreAllowedForEveryShape) {
  const ExampleShape shapes[] = {
      {},
      {.batch = 1, .heads = 1, .kv_heads = 1, .q_len = 1, .kv_len = 1000, .d_qk = 64, .d_v = 64},
      {.batch = 3, .heads = 12, .kv_heads = 3, .q_len = 9, .kv_len = 4, .d_qk = 192, .d_v = 128},
      {.batch = 1, .heads = 40, .kv_heads = 40, .q_len = 130, .kv_len = 130, .d_qk = 8, .d_v = 16}};
  for (const Variant& v : variants()) {
    for (const ExampleShape& shape : shapes) {
      EXPECT_NO_THROW(ExampleParameters(v, shape)) << v.name() << ", kv_len " << shape.kv_len;
    }
  }
}

TEST_F(Catalogue, TheReferenceAnswers) {
  const ExampleShape shapes[] = {
      {.batch = 2, .heads = 4, .kv_heads = 2, .q_len = 70, .kv_len = 70, .d_qk = 16, .d_v = 8},
      {.batch = 2, .heads = 2, .kv_heads = 1, .q_len = 5, .kv_len = 90, .d_qk = 32, .d_v = 32}};
  for (const Variant& v : variants()) {
    for (const ExampleShape& s : shapes) {
      SCOPED_TRACE(v.name() + ", q_len " + std::to_string(s.q_len));
      Problem problem({.b = s.batch,
                       .hq = s.heads,
                       .hkv = s.kv_heads,
                       .sq = s.q_len,
                       .skv = s.kv_len,
                       .d = s.d_qk,
                       .dv = s.d_v});
      fill(problem.q, 1);
      fill(problem.k, 2);
      fill(problem.v, 3);
      const ExampleParameters example(v, s);
      const ReferenceResult exact = reference_attention(v, problem.call, example.values());
      const ReferenceResult plain = plain_attention(v, problem.call, example.values());
      double largest = 0, error = 0;
      for (size_t i = 0; i < exact.out.size(); ++i) {
        ASSERT_TRUE(std::isfinite(exact.out[i])) << i;
        largest = std::max(largest, std::abs(exact.out[i]));
        error = std::max(error, std::abs(exact.out[i] - plain.out[i]));
      }
      EXPECT_GT(largest, 1e-3) << "a result that is all zero shows nothing";
      EXPECT_LT(error, 1e-4 * std::max(1.0, largest));
    }
  }
}

}  // namespace
}  // namespace fovea
