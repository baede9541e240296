// SPDX-License-Identifier: Apache-2.0
#include "name_parts.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace transliterate {
namespace {

using Parts = std::vector<std::string>;

TEST(NameParts, VowelSignsAndStretchingGo) {
  EXPECT_EQ(normalize("مُحَمَّد"), "محمد");
  EXPECT_EQ(normalize("عبـــد"), "عبد");
  EXPECT_EQ(normalize("رحم\u0670ن"), "رحمن");
}

TEST(NameParts, OtherFormsOfTheSameLetters) {
  EXPECT_EQ(normalize("کیہٱ"), "كيها");
  EXPECT_EQ(normalize("\uFEE3\uFEA4\uFEE4\uFEAA"), "محمد") << "presentation forms";
  EXPECT_EQ(normalize("\uFEFB"), "لا") << "a ligature";
}

TEST(NameParts, HamzaStays) { EXPECT_EQ(normalize("أإآؤئء"), "أإآؤئء"); }

TEST(NameParts, SpacesAndPunctuation) {
  EXPECT_EQ(normalize("  محمد\t-\u00A0صلاح،  "), "محمد صلاح");
  EXPECT_EQ(normalize("\u200Fمح\u200Cمد'"), "محمد");
  EXPECT_EQ(normalize(" \u0640 ."), "");
}

TEST(NameParts, OnlyUtf8) {
  EXPECT_THROW(normalize("\xD9"), std::runtime_error);
  EXPECT_THROW(normalize("a\xFF"), std::runtime_error);
}

TEST(NameParts, ParticlesJoin) {
  EXPECT_EQ(split_parts("محمد صلاح"), (Parts{"محمد", "صلاح"}));
  EXPECT_EQ(split_parts("بن عبد العزيز"), (Parts{"بن عبد العزيز"}));
  EXPECT_EQ(split_parts("صلاح الدين أبو بكر"), (Parts{"صلاح الدين", "أبو بكر"}));
  EXPECT_EQ(split_parts("عبدالرحمن"), (Parts{"عبد الرحمن"}));
  EXPECT_EQ(split_parts("عبدالم"), (Parts{"عبدالم"})) << "too short to be two words";
  EXPECT_EQ(split_parts("محمد بن"), (Parts{"محمد", "بن"})) << "nothing follows";
  EXPECT_EQ(split_parts("الدين"), (Parts{"الدين"})) << "nothing precedes";
  EXPECT_EQ(split_parts(""), Parts{});
}

TEST(NameParts, Roles) {
  EXPECT_EQ(roles_of(1), (Parts{"unknown"}));
  EXPECT_EQ(roles_of(3), (Parts{"given", "given", "surname"}));
}

}  // namespace
}  // namespace transliterate
