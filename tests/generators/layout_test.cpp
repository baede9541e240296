// layout_test.cpp: lines, names that are nearly right, shapes of calls.
// SPDX-License-Identifier: Apache-2.0
#include "generators/describe/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generators/describe/call_shape.h"

namespace fovea {
namespace {

using ::testing::HasSubstr;

TEST(Layout, WidthCountsCharacters) {
  EXPECT_EQ(width_of(""), 0u);
  EXPECT_EQ(width_of("abc"), 3u);
  EXPECT_EQ(width_of("·█→"), 3u);
}

TEST(Layout, LinesBreakAtSpaces) {
  EXPECT_EQ(wrapped("  name", 10, "what it is"), "  name    what it is\n");
  EXPECT_EQ(wrapped("a longer name", 4, "text"), "a longer nametext\n");
  EXPECT_EQ(wrapped("  name", 10, ""), "  name\n");
  std::string words;
  for (int i = 0; i < 40; ++i) words += i ? " word" : "word";
  const std::string text = wrapped("  name", 10, words);
  size_t lines = 0, begin = 0;
  std::string again;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1, ++lines) {
    const std::string line = text.substr(begin, end - begin);
    EXPECT_LE(width_of(line), line_width);
    again += (lines ? " " : "") + line.substr(10);
  }
  EXPECT_GT(lines, 2u);
  EXPECT_EQ(again, words);
  // No word is cut.
  const std::string word(200, 'x');
  EXPECT_EQ(wrapped("", 2, "a " + word), "  a\n  " + word + "\n");
}

TEST(Layout, FormulasBreakBeforeTheirOperators) {
  EXPECT_EQ(wrapped_formula("a", 4, "x && y"), "a   x && y\n");
  const std::string half(70, 'x');
  EXPECT_EQ(wrapped_formula("", 2, half + " + y && z < " + half + " || k"),
            "  " + half + " + y\n  && z < " + half + " || k\n");
  // A piece that is too long is broken at any space.
  EXPECT_EQ(wrapped_formula("", 2, half + " + " + half), "  " + half + " +\n  " + half + "\n");
}

TEST(Layout, NearestName) {
  const std::vector<std::string> names = {"alibi_causal", "causal", "causal_window", "full"};
  EXPECT_EQ(nearest_name("casual", names), "causal");
  EXPECT_EQ(nearest_name("causal_windw", names), "causal_window");
  EXPECT_EQ(nearest_name("ful", names), "full");
  EXPECT_EQ(nearest_name("rope", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

TEST(CallShape, TextBothWays) {
  const ExampleShape s = parse_call_shape("b=2,hq=8,hkv=4,sq=100,skv=300,d=192/128", {});
  EXPECT_EQ(s.batch, 2);
  EXPECT_EQ(s.heads, 8);
  EXPECT_EQ(s.kv_heads, 4);
  EXPECT_EQ(s.q_len, 100);
  EXPECT_EQ(s.kv_len, 300);
  EXPECT_EQ(s.d_qk, 192);
  EXPECT_EQ(s.d_v, 128);
  EXPECT_EQ(call_shape_text(s), "b=2,hq=8,hkv=4,sq=100,skv=300,d=192/128");
  // The rest stays as it is; d alone is both.
  EXPECT_EQ(call_shape_text(parse_call_shape("d=32,sq=7", s)), "b=2,hq=8,hkv=4,sq=7,skv=300,d=32");
  EXPECT_EQ(call_shape_text(parse_call_shape("", s)), call_shape_text(s));
}

TEST(CallShape, WhatIsWrongIsNamed) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_call_shape(text, {});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const char* word : {"sq=0", "sq=-1", "sq=", "sq", "s=4", "sq=1e3", "sq=9999999999", "sq=4/2",
                           "d=64/", "d=/64", "d=64/64/64", "=4"}) {
    EXPECT_THAT(refusal(std::string("b=1,") + word), HasSubstr(std::string("'") + word + "'"))
        << word;
  }
  EXPECT_THAT(refusal("hq=8,hkv=3"), HasSubstr("hkv 3"));
}

}  // namespace
}  // namespace fovea
