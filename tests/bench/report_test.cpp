// report_test.cpp: rows, ratios and tables.
// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generators/describe/layout.h"

namespace fovea::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row measured(const std::string& engine, double seconds) {
  Row row;
  row.engine = engine;
  row.seconds.values = {seconds, seconds, 2 * seconds};
  row.peak_gflops.values = {90, 100};
  row.error = {1e-7, 2e-7};
  return row;
}

// 1e9 operations: 50 GFLOP/s in 20 ms.
Report sample() {
  CaseResult c;
  c.variant = "causal", c.pass = "prefill", c.dtype = "f32", c.threads = 2;
  c.shape = "b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64";
  c.flops = 1e9, c.bytes = 2e8;
  c.stream_gbps.values = {20, 30};
  Row fovea = measured("fovea", 0.02);
  fovea.target = "x86-avx2";
  Row slow = measured("slow", 0.1), fast = measured("fast", 0.04), gone = measured("gone", 0.001);
  fast.version = "fast 3";
  fast.error.max_abs = 3e-7;  // above the bound, and said so
  gone.cannot =
      "not installed: a reason that is so long that it has to be broken into two lines "
      "in the table for a terminal";
  c.rows = {fovea, measured("plain", 0.01), slow, fast, gone};
  Report report;
  report.date = "2026-01-31";
  report.cpu = "AMD EPYC";
  report.versions = {"fovea 0.1.0"};
  report.cases = {c};
  return report;
}

TEST(Report, RatesOfARow) {
  const nlohmann::ordered_json rows = report_json(sample())["rows"];
  EXPECT_DOUBLE_EQ(rows[0]["median_s"], 0.02);
  EXPECT_DOUBLE_EQ(rows[0]["mad_s"], 0);
  EXPECT_EQ(rows[0]["n"], 3);
  EXPECT_DOUBLE_EQ(rows[0]["gflops"], 50);
  EXPECT_DOUBLE_EQ(rows[0]["gbps"], 10);
  EXPECT_DOUBLE_EQ(rows[0]["stream_gbps"], 30);
  EXPECT_DOUBLE_EQ(rows[0]["peak_gflops"], 100);
  EXPECT_DOUBLE_EQ(rows[0]["fraction_of_peak"], 0.5);
  EXPECT_EQ(rows[0]["within_bound"], true);
  EXPECT_EQ(rows[3]["within_bound"], false);
  EXPECT_FALSE(rows[4].contains("median_s"));
  EXPECT_THAT(rows[4]["cannot"], HasSubstr("not installed"));
}

// Neither the plain loop nor one that was not measured counts.
TEST(Report, TheBestPeerIsAMeasuredOne) {
  const nlohmann::ordered_json row = report_json(sample())["rows"][0];
  EXPECT_EQ(row["best_peer"], "fast");
  EXPECT_DOUBLE_EQ(row["ratio_to_best_peer"], 2);
  Report alone = sample();
  alone.cases[0].rows.resize(2);
  EXPECT_FALSE(report_json(alone)["rows"][0].contains("ratio_to_best_peer"));
}

TEST(Report, TheTextFitsATerminal) {
  const std::string text = report_text(sample());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), 100u) << line;
  EXPECT_THAT(text,
              HasSubstr("causal prefill f32 b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64, 2 threads"));
  EXPECT_THAT(text, HasSubstr("50.0    50.0 %    2.00  1.0e-07\n"));
  EXPECT_THAT(text, HasSubstr("3.0e-07 !\n"));
}

TEST(Report, SchedulesOfOneTargetAreToldApart) {
  Report report = sample();
  EXPECT_THAT(report_text(report), Not(HasSubstr("(default)")));
  Row other = report.cases[0].rows[0];
  other.overrides = "key_tile=4";
  report.cases[0].rows.insert(report.cases[0].rows.begin(), other);
  EXPECT_THAT(report_text(report), HasSubstr("fovea x86-avx2 (default) "));
  EXPECT_THAT(report_text(report), HasSubstr("fovea x86-avx2 key_tile=4 "));
}

TEST(Report, MarkdownHasAColumnForEachMeasuredPeer) {
  const std::string text = report_markdown(sample());
  EXPECT_THAT(text, HasSubstr("| plain | slow | fast | to the best |\n"));
  EXPECT_THAT(text, HasSubstr("| 2 | 50.0 ± 0.0 % | 50 % | 100.0 | 10.0 | 25.0 ! | 2.00 |\n"));
  const auto bars = [](const std::string& line) {
    return std::count(line.begin(), line.end(), '|');
  };
  std::istringstream lines(text);
  std::string first, line;
  std::getline(lines, first);
  EXPECT_EQ(first, "AMD EPYC, 2026-01-31; FMA peak 100 GFLOP/s on 2 threads; fovea 0.1.0, fast 3.");
  std::getline(lines, first);  // empty
  std::getline(lines, first);
  while (std::getline(lines, line)) EXPECT_EQ(bars(line), bars(first)) << line;
}

}  // namespace
}  // namespace fovea::bench
