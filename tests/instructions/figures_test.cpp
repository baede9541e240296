// figures_test.cpp: the comparison finds what it should. SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fovea::test {
namespace {

const Figures committed = {{{"kernel_a", "instructions"}, 1000},
                           {{"kernel_a", "spills"}, 2},
                           {{"kernel_b", "masked_multiply_adds"}, 0}};

TEST(Figures, SurviveWritingAndReading) {
  EXPECT_EQ(parse_figures(figures_text(committed)), committed);
  EXPECT_EQ(figures_text({}), "kernel,figure,value\n");
}

TEST(Figures, RefuseLinesThatAreNone) {
  const std::string header = "kernel,figure,value\n";
  for (const char* line : {"a,b", "a,b,", "a,b,x", "a,b,1x", "a,b,-1", "a,b,1,2", "a,b,1\na,b,2"})
    EXPECT_THROW(parse_figures(header + line), std::runtime_error) << line;
  EXPECT_THROW(parse_figures(""), std::runtime_error);
  EXPECT_THROW(parse_figures("a,b,1\n"), std::runtime_error);
}

TEST(Figures, CountsMayMoveByThreePercent) {
  for (const int64_t value : {970, 1000, 1030})
    EXPECT_EQ(complaint(committed, "kernel_a", "instructions", value), "");
  EXPECT_EQ(complaint(committed, "kernel_a", "instructions", 1031),
            "kernel_a: instructions is 1031, committed is 1000: +31, +3.1 % (allowed: ±3 %)");
  EXPECT_EQ(complaint(committed, "kernel_a", "instructions", 900),
            "kernel_a: instructions is 900, committed is 1000: -100, -10.0 % (allowed: ±3 %)");
}

TEST(Figures, OneMoreAmongFewIsTooMany) {
  EXPECT_EQ(complaint(committed, "kernel_a", "spills", 2), "");
  EXPECT_EQ(complaint(committed, "kernel_a", "spills", 3),
            "kernel_a: spills is 3, committed is 2: +1, +50.0 % (allowed: ±3 %)");
  EXPECT_EQ(complaint(committed, "kernel_b", "masked_multiply_adds", 1),
            "kernel_b: masked_multiply_adds is 1, committed is 0: +1 (allowed: ±3 %)");
}

TEST(Figures, NewKernelsAreNamed) {
  EXPECT_EQ(complaint(committed, "kernel_c", "spills", 0),
            "kernel_c: spills is 0, no figure is committed");
}

}  // namespace
}  // namespace fovea::test
