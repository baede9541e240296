// call_parameters_test.cpp: parameters of a measured call, and what --set puts in their place.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/dsl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "bench/parameters.h"

namespace fovea::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Declared as an author does, outside of the catalogue.
const Variant& sample() {
  static const Variant variant = [] {
    Variant v("sample");
    auto window = v.scalar<int>("window").at_least(1);
    window.example(7);
    auto cap = v.scalar<float>("cap").positive();
    auto document = v.table<int>("document", {axis::batch, axis::position});
    v.score([=](Expr s, Position) { return cap * tanh(s / cap); });
    v.keep([=](Position p) {
      return document(p.batch, p.q) == document(p.batch, p.k) && p.q - p.k < window;
    });
    return v;
  }();
  return variant;
}

const ExampleShape shape = {2, 1, 1, 6, 6, 8, 8};

std::vector<int> entries(const CallParameters& parameters) {
  const fovea_table& table = parameters.values().at("document").table;
  const auto* first = static_cast<const int32_t*>(table.data);
  return {first, first + entry_count(table)};
}

std::string refusal(const std::string& setting) {
  try {
    CallParameters(sample(), shape, parse_settings({setting}));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CallParameters, ExamplesAndSettings) {
  const CallParameters plain(sample(), shape, {});
  EXPECT_EQ(plain.values().at("window").scalar, 7);
  const CallParameters set(sample(), shape,
                           parse_settings({"window=3", "cap=2.5", "document=parts:3", "other=1"}));
  EXPECT_EQ(set.values().at("window").scalar, 3);
  EXPECT_EQ(set.values().at("cap").scalar, 2.5);
  EXPECT_THAT(entries(set), ElementsAre(0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2));
  EXPECT_THAT(entries(CallParameters(sample(), shape, parse_settings({"document=4"}))),
              ::testing::Each(4));
}

// As the generated header declares it.
TEST(CallParameters, TheBlockIsTheStructureOfTheHeader) {
  struct Params {
    int32_t window;
    float cap;
    fovea_table document;
  };
  const CallParameters set(sample(), shape, parse_settings({"window=3", "cap=2.5"}));
  Params params;
  std::memcpy(&params, set.data(), sizeof params);
  EXPECT_EQ(params.window, 3);
  EXPECT_EQ(params.cap, 2.5f);
  EXPECT_EQ(params.document.extent[1], 6);
  EXPECT_EQ(params.document.data, set.values().at("document").table.data);
}

TEST(CallParameters, Refusals) {
  EXPECT_THAT(refusal("window"), HasSubstr("--set 'window': allowed is NAME=VALUE"));
  EXPECT_THAT(refusal("window=0"), HasSubstr("--set 'window=0': allowed is [1"));
  EXPECT_THAT(refusal("window=2.5"), HasSubstr("allowed is an integer"));
  EXPECT_THAT(refusal("window=3x"), HasSubstr("allowed is NAME=NUMBER"));
  EXPECT_THAT(refusal("cap=0"), HasSubstr("--set 'cap=0': allowed is (0"));
  EXPECT_THAT(refusal("cap=nan"), HasSubstr("--set 'cap=nan'"));
  EXPECT_THAT(refusal("document=parts:0"), HasSubstr("1 part or more"));
  EXPECT_THAT(refusal("document=parts:many"), HasSubstr("NAME=parts:COUNT"));
  EXPECT_THROW(parse_settings({"a=1", "a=2"}), std::invalid_argument);
}

}  // namespace
}  // namespace fovea::bench
