// axes_test.cpp: lists and ranges on the command line.
// SPDX-License-Identifier: Apache-2.0
#include "bench/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "generators/describe/call_shape.h"

namespace fovea::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> shapes(const std::string& text) {
  std::vector<std::string> words;
  for (const ExampleShape& s : parse_shapes(text)) words.push_back(call_shape_text(s));
  return words;
}

std::string refusal(const std::string& text) {
  try {
    parse_shapes(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Axis, ListsAndRanges) {
  EXPECT_THAT(parse_axis("x", "512"), ElementsAre(512));
  EXPECT_THAT(parse_axis("x", "512|64"), ElementsAre(512, 64));
  EXPECT_THAT(parse_axis("x", "1..4"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(parse_axis("x", "64..200+64"), ElementsAre(64, 128, 192));
  EXPECT_THAT(parse_axis("x", "512..8192*4"), ElementsAre(512, 2048, 8192));
  EXPECT_THAT(parse_axis("x", "7|1..2|5"), ElementsAre(7, 1, 2, 5));
  EXPECT_THAT(parse_axis("x", "3..3"), ElementsAre(3));
}

TEST(Shapes, WhatIsLeftOutFollows) {
  EXPECT_THAT(shapes(""), ElementsAre("b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64"));
  EXPECT_THAT(shapes("hq=4,sq=100"), ElementsAre("b=1,hq=4,hkv=4,sq=100,skv=100,d=64"));
  EXPECT_THAT(shapes("hkv=2,skv=100,d=192/128"),
              ElementsAre("b=1,hq=8,hkv=2,sq=2048,skv=100,d=192/128"));
}

TEST(Shapes, EveryCombinationTheLastAxisFastest) {
  EXPECT_THAT(
      shapes("sq=64|128,d=32|48/16,b=2"),
      ElementsAre("b=2,hq=8,hkv=8,sq=64,skv=64,d=32", "b=2,hq=8,hkv=8,sq=64,skv=64,d=48/16",
                  "b=2,hq=8,hkv=8,sq=128,skv=128,d=32", "b=2,hq=8,hkv=8,sq=128,skv=128,d=48/16"));
}

TEST(Shapes, RefusalsNameTheWordAndWhatIsAllowed) {
  EXPECT_THAT(refusal("sq=0"), HasSubstr("'0' is not a number of 1 to 999999999"));
  EXPECT_THAT(refusal("sq=512||64"), HasSubstr("'' is not a number"));
  EXPECT_THAT(refusal("sq=9..1"), HasSubstr("'9..1' is not"));
  EXPECT_THAT(refusal("sq=2..64*1"), HasSubstr("'2..64*1' is not"));
  EXPECT_THAT(refusal("sq=1..99999"), HasSubstr("more than 10000 values"));
  EXPECT_THAT(refusal("sq=-3"), HasSubstr("'-3'"));
  EXPECT_THAT(refusal("rows=3"), HasSubstr("'rows=3' is not one of b hq hkv sq skv d"));
  EXPECT_THAT(refusal("sq"), HasSubstr("'' is not a number"));
  EXPECT_THAT(refusal("sq=1,sq=2"), HasSubstr("'sq' is given twice"));
  EXPECT_THAT(refusal("hq=8,hkv=3"), HasSubstr("hq is 8 and hkv 3"));
  EXPECT_THAT(refusal("sq=1..1000,b=1..1000"), HasSubstr("more than 10000 shapes"));
  EXPECT_THAT(refusal("d=64/0"), HasSubstr("'64/0'"));
}

}  // namespace
}  // namespace fovea::bench
