// report_test.cpp: rows become a page. SPDX-License-Identifier: Apache-2.0
#include "generators/report/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "generators/report/plot.h"
#include "output_of.h"

namespace fovea::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

Json row(const std::string& engine, const std::string& shape, double seconds) {
  return {{"engine", engine},
          {"version", engine + " 1"},
          {"variant", "causal"},
          {"pass", "prefill"},
          {"dtype", "f32"},
          {"shape", shape},
          {"settings", ""},
          {"target", engine == "fovea" ? "x86-avx2" : ""},
          {"schedule", "row_vectors=3,key_tile=4"},
          {"threads", 1},
          {"median_s", seconds},
          {"mad_s", seconds / 100},
          {"n", 15},
          {"gflops", 1 / seconds},
          {"gbps", 0.01 / seconds},
          {"stream_gbps", 20},
          {"peak_gflops", 100},
          {"fraction_of_peak", 0.01 / seconds},
          {"max_abs_error", 1e-7},
          {"error_bound", 2e-7},
          {"command", "fovea bench --variant causal --shape " + shape + " --peers " + engine}};
}

const char* const short_shape = "b=1,hq=8,hkv=8,sq=512,skv=512,d=64";
const char* const long_shape = "b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64";

ReportData sample() {
  Json root = {{"date", "2026-01-31"}, {"cpu", "AMD EPYC"}, {"versions", {"fovea 0.1.0"}}};
  root["rows"] = {row("fovea", short_shape, 0.01), row("fast", short_shape, 0.02),
                  row("plain", short_shape, 0.005), row("fovea", long_shape, 0.02),
                  row("fast", long_shape, 0.03)};
  ReportData data;
  add_bench_rows("rows.json", root.dump(), data);
  return data;
}

TEST(PageTemplate, FillsPlaces) {
  const PageTemplate page(
      "ignored\n<!-- block: a -->\n<p>{{x}} {{{y}}}</p>\n<!-- block: b -->\nb\n");
  EXPECT_EQ(page.fill("a", {{"x", "<1> & \"2\""}, {"y", "<b>"}}),
            "<p>&lt;1&gt; &amp; &quot;2&quot; <b></p>\n");
  EXPECT_EQ(page.fill("b", {}), "b\n");
  EXPECT_THROW(page.fill("c", {}), std::logic_error);
  EXPECT_THROW(page.fill("a", {{"x", ""}}), std::logic_error);
}

TEST(ReportData, ObjectsAndLinesAreTheSame) {
  ReportData object = sample(), lines;
  std::string text;
  for (const char* engine : {"fovea", "fast"}) text += row(engine, short_shape, 0.01).dump() + "\n";
  add_bench_rows("lines", text + "{\"cut", lines);
  EXPECT_EQ(lines.rows.size(), 2u);
  EXPECT_EQ(lines.rows[0].label(), "fovea x86-avx2");
  EXPECT_EQ(lines.rows[0].extent("sq"), 512);
  EXPECT_EQ(lines.rows[0].extent("none"), 0);
  EXPECT_EQ(lines.rows[0].case_name(), object.rows[0].case_name());
  EXPECT_EQ(lines.remarks, std::vector<std::string>{"lines:3: no JSON, left out"});
  EXPECT_THROW(add_bench_rows("empty", "{}", lines), std::invalid_argument);
  EXPECT_THROW(add_tuning_lines("empty", "", lines), std::invalid_argument);
}

TEST(ReportData, RowsWithoutATimeAreNotMeasured) {
  Json failed = row("fovea", short_shape, 0);
  ReportData data;
  add_bench_rows("rows", failed.dump(), data);
  EXPECT_FALSE(data.rows[0].is_measured());
  EXPECT_THAT(report_page(data, {}, "title", "command"), HasSubstr("the row has no time"));
}

TEST(ReportPage, ComparesWithTheBestPeer) {
  const std::string page = report_page(sample(), {}, "title", "command");
  // 2 and 1.5 times; the plain loop is no peer.
  EXPECT_THAT(page, HasSubstr("1.73 ×"));
  EXPECT_THAT(page, HasSubstr("geometric mean of 2 cases, 1.50 to 2.00"));
  EXPECT_THAT(page, HasSubstr("2 of 2"));
  EXPECT_THAT(page, HasSubstr("AMD EPYC, 2026-01-31; fovea 0.1.0"));
}

TEST(ReportPage, HasWhatThereIsDataFor) {
  const std::string page = report_page(sample(), {}, "a <title>", "command");
  for (const char* id : {"summary", "roofline", "scaling", "peers", "kernels", "repeat"})
    EXPECT_THAT(page, HasSubstr(std::string("<section id=\"") + id + "\"")) << id;
  for (const char* id : {"schedules", "tuning", "masks"})
    EXPECT_THAT(page, Not(HasSubstr(std::string("<section id=\"") + id + "\""))) << id;
  EXPECT_THAT(page, HasSubstr("a &lt;title&gt;"));
  std::string words = page;  // without the marks that keep options whole
  for (const char* mark : {"<i>", "</i>"}) {
    for (size_t at = 0; (at = words.find(mark, at)) != std::string::npos;)
      words.erase(at, std::string(mark).size());
  }
  for (const BenchRow& r : sample().rows) EXPECT_THAT(words, HasSubstr(escaped(r.command)));
  for (const char* unit : {"GFLOP/s", "ms", "operations per byte", "GB/s"})
    EXPECT_THAT(page, HasSubstr(unit));
}

TEST(ReportPage, LoadsNothing) {
  const std::string page = report_page(sample(), {}, "title", "command");
  for (const char* part : {"http:", "https:", "//", "<script", "<link", "@import", "src="})
    EXPECT_THAT(page, Not(HasSubstr(part))) << part;
}

TEST(ReportPage, SchedulesAreNamedByWhatDiffers) {
  ReportData data = sample();
  data.rows.push_back(data.rows[0]);
  data.rows.back().schedule = "row_vectors=2,key_tile=4";
  const std::string section =
      schedules_section(PageTemplate("<!-- block: section -->\n{{{body}}}\n"
                                     "<!-- block: figures -->\n{{{figures}}}\n"
                                     "<!-- block: figure -->\n{{{picture}}}\n"),
                        data);
  EXPECT_THAT(section, HasSubstr(">row_vectors=3<"));
  EXPECT_THAT(section, HasSubstr(">row_vectors=2<"));
  EXPECT_THAT(section, Not(HasSubstr("key_tile")));
}

TEST(ReportPage, SearchesShowTheBestSoFarAndWhatFailed) {
  std::string lines;
  for (const double speedup : {1.0, 0.0, 0.5, 1.25}) {
    Json line = {{"schema", 1},
                 {"kernel", "fovea_prefill__causal__f32__d64__x86_avx2"},
                 {"workload", {{"class", "long"}, {"settings", ""}, {"threads", 2}}},
                 {"schedule", {{"row_vectors", 3}}},
                 {"speedup", speedup},
                 {"status", speedup > 0 ? "ok" : "crash"}};
    lines += line.dump() + "\n";
  }
  ReportData data;
  add_tuning_lines("tuned.jsonl", lines, data);
  const std::string page = report_page(data, {}, "title", "command");
  EXPECT_THAT(page, HasSubstr("4 candidates, 1 crash"));
  EXPECT_THAT(page, HasSubstr("x86_avx2, long, 2 threads"));
  EXPECT_THAT(page, HasSubstr("<title>1.250 ×: row_vectors=3</title>"));
  EXPECT_THAT(page, Not(HasSubstr("section id=\"summary\"")));
}

TEST(Plot, NumbersOfAxes) {
  EXPECT_EQ(short_number(0.25), "0.25");
  EXPECT_EQ(short_number(100), "100");
  EXPECT_EQ(short_number(2048), "2048");
  EXPECT_EQ(short_number(1500), "1500");
  EXPECT_EQ(short_number(2.5e6), "2.5M");
}

TEST(Plot, PointsLieWhereTheirValuesAre) {
  Plot plot;
  plot.y.from_zero = true;
  Series s;
  s.name = "s";
  s.points = {{0, 0, "low", 0}, {1, 5, "middle", 0}, {2, 10, "high", 0}};
  plot.series = {s};
  const std::string svg = plot_svg(plot);
  std::vector<double> y;
  for (size_t at = 0; (at = svg.find("cy=\"", at)) != std::string::npos; ++at)
    y.push_back(std::stod(svg.substr(at + 4)));
  ASSERT_EQ(y.size(), 3u);
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], 0.11);
  EXPECT_GT(y[0], y[2]);
}

TEST(ReportCommand, DrawsMasksOfItsRows) {
  const ScratchFolder folder;
  const std::string rows = (folder.path() / "rows.json").string(),
                    out = (folder.path() / "page.html").string();
  write_if_changed(rows, row("fovea", short_shape, 0.01).dump());
  const Json said =
      Json::parse(stdout_of({"report", rows, "--out", out, "--target", "x86-avx2", "--json"}));
  EXPECT_EQ(said.at("rows"), 1);
  EXPECT_EQ(said.at("masks"), 1);
  const std::string page = read_file(out);
  EXPECT_THAT(page, HasSubstr("tile-partial"));
  EXPECT_THAT(page, HasSubstr("tile-skipped"));
  EXPECT_THAT(page, HasSubstr("are skipped"));
  EXPECT_EQ(run_fovea({"report", (folder.path() / "none.json").string()}).how, "exit status 1");
}

}  // namespace
}  // namespace fovea::report
