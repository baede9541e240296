// figures_test.cpp: the comparison finds what it should. SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

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

TEST(Figures, AFileIsComparedBothWays) {
  const std::string file = testing::TempDir() + "fovea_figures_test.csv";
  std::ofstream(file) << figures_text({{{"kernel_a", "spills"}, 1}, {{"kernel_b", "spills"}, 2}});
  const auto nobodys = [](const std::string&, const std::string&) { return false; };
  const auto of_b = [](const std::string& kernel, const std::string&) {
    return kernel == "kernel_b";
  };
  Figures measured = {{{"kernel_a", "spills"}, 1}};
  expect_committed(measured, file, of_b);
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter reporter(&failures);
    expect_committed(measured, file, nobodys);
    measured[{"kernel_a", "spills"}] = 2;
    expect_committed(measured, file, of_b);
  }
  ASSERT_EQ(failures.size(), 2);
  EXPECT_NE(std::string(failures.GetTestPartResult(0).message())
                .find("kernel_b: spills is committed, and not measured"),
            std::string::npos);
  EXPECT_NE(std::string(failures.GetTestPartResult(1).message())
                .find("kernel_a: spills is 2, committed is 1"),
            std::string::npos);
  std::remove(file.c_str());
}

TEST(Figures, NewKernelsAreNamed) {
  EXPECT_EQ(complaint(committed, "kernel_c", "spills", 0),
            "kernel_c: spills is 0, no figure is committed");
}

}  // namespace
}  // namespace fovea::test
