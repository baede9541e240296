// charts.cpp: the parts of a report that are pictures of rows: roofline, lengths, schedules.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "generators/report/plot.h"
#include "generators/report/report_page.h"

namespace fovea::report {
namespace {

std::string legend_of(const PageTemplate& page, const std::vector<Series>& series) {
  std::string items;
  for (const Series& s : series)
    items += page.fill("legend-item", {{"mark", mark_svg(s.style)}, {"name", s.name}});
  return page.fill("legend", {{"items", items}});
}

std::string figure(const PageTemplate& page, const std::string& title, const std::string& caption,
                   const std::string& picture, const std::string& legend) {
  return page.fill(
      "figure", {{"title", title}, {"caption", caption}, {"picture", picture}, {"legend", legend}});
}

std::string section(const PageTemplate& page, const std::string& id, const std::string& title,
                    const std::string& lead, const std::string& figures) {
  if (figures.empty()) return "";
  return page.fill("section", {{"id", id},
                               {"title", title},
                               {"lead", lead},
                               {"body", page.fill("figures", {{"figures", figures}})}});
}

std::string threads_text(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

// Adds to the series of that name, in the order in which names appear.
Series& series_of(std::vector<Series>& all, const std::string& name) {
  for (Series& s : all) {
    if (s.name == name) return s;
  }
  Series s;
  s.name = name;
  s.style = static_cast<int>(all.size());
  all.push_back(std::move(s));
  return all.back();
}

std::string row_text(const BenchRow& r) {
  return fmt::format("{}, {}: {}, {:.0f} % of the limit", r.label(), r.case_name(), rate_text(r),
                     100 * r.fraction());
}

// "row_vectors=3,key_tile=8" or with spaces, as words.
std::vector<std::string> words_of(const std::string& schedule) {
  std::string text = schedule;
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// What a schedule has that not all of them have.
std::string difference(const std::string& schedule, const std::vector<std::string>& all) {
  std::vector<std::string> own;
  for (const std::string& word : words_of(schedule)) {
    const bool common = std::all_of(all.begin(), all.end(), [&](const std::string& other) {
      const std::vector<std::string> words = words_of(other);
      return std::find(words.begin(), words.end(), word) != words.end();
    });
    if (!common) own.push_back(word);
  }
  return own.empty() ? schedule : fmt::format("{}", fmt::join(own, " "));
}

std::string roofline(const PageTemplate& page, const std::vector<const BenchRow*>& rows,
                     int threads) {
  Plot plot;
  plot.title = "roofline on " + threads_text(threads);
  plot.x = {"operations per byte of inputs and output", true, {}, false};
  plot.y = {"GFLOP/s", true, {}, false};
  double peak = 0, stream = 0, least = 0, most = 0;
  for (const BenchRow* r : rows) {
    // At most as many series as there are styles: by variant, or else by pass and type.
    peak = std::max(peak, r->peak_gflops);
    stream = std::max(stream, r->stream_gbps);
    least = least == 0 ? r->intensity() : std::min(least, r->intensity());
    most = std::max(most, r->intensity());
  }
  std::set<std::string> variants;
  for (const BenchRow* r : rows) variants.insert(r->variant + " " + r->pass + " " + r->dtype);
  const bool by_variant = variants.size() <= style_count;
  for (const BenchRow* r : rows) {
    const std::string kind = r->pass + " " + r->dtype;
    Series& s = series_of(plot.series, by_variant ? r->variant + ", " + kind : kind);
    s.line = false;
    s.points.push_back({r->intensity(), r->gflops, row_text(*r), 0});
  }
  if (peak > 0 && stream > 0) {
    const double ridge = peak / stream;
    const double from = std::min(least, ridge / 4), to = std::max(most, ridge * 4);
    plot.limits.push_back({fmt::format("{:.0f} GFLOP/s of multiply-adds", peak),
                           {{ridge, peak, "", 0}, {to, peak, "", 0}}});
    plot.limits.push_back(
        {fmt::format("{:.0f} GB/s", stream), {{from, from * stream, "", 0}, {ridge, peak, "", 0}}});
  }
  return figure(page, "Roofline, " + threads_text(threads),
                "both limits were measured in the same runs; products of 16-bit pairs may pass the "
                "upper one",
                plot_svg(plot), legend_of(page, plot.series));
}

// The extent that grows along a curve.
int64_t length_of(const BenchRow& r) { return r.extent(r.is_decode() ? "skv" : "sq"); }

}  // namespace

std::string roofline_section(const PageTemplate& page, const ReportData& data) {
  std::map<int, std::vector<const BenchRow*>> by_threads;
  for (const BenchRow& r : data.rows) {
    if (r.is_fovea() && r.is_measured() && r.intensity() > 0) by_threads[r.threads].push_back(&r);
  }
  std::string figures;
  for (const auto& [threads, rows] : by_threads) figures += roofline(page, rows, threads);
  return section(page, "roofline", "Roofline",
                 "How near each kernel comes to what the machine can do: under the slope memory is "
                 "the limit, under the flat part the multiply-adds are.",
                 figures);
}

std::string scaling_section(const PageTemplate& page, const ReportData& data) {
  // What stays the same along a curve -> its rows.
  std::vector<std::pair<std::string, std::vector<const BenchRow*>>> groups;
  for (const BenchRow& r : data.rows) {
    if (!r.is_measured() || length_of(r) == 0) continue;
    const std::string name =
        fmt::format("{}{} {} {}, {}, {}{}", r.variant, r.settings.empty() ? "" : " " + r.settings,
                    r.pass, r.dtype,
                    r.shape_without(r.is_decode() ? std::vector<std::string>{"skv"}
                                                  : std::vector<std::string>{"sq", "skv"}),
                    threads_text(r.threads), r.cold ? ", cold" : "");
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const auto& known) { return known.first == name; });
    if (it == groups.end()) it = groups.insert(it, {name, {}});
    it->second.push_back(&r);
  }
  std::string figures;
  for (const auto& [name, rows] : groups) {
    Plot plot;
    std::set<int64_t> lengths;
    double limit = 0;
    // The first schedule of a kernel is its curve; others are compared elsewhere.
    std::set<std::string> taken;
    for (const BenchRow* r : rows) {
      if (!taken.insert(fmt::format("{} {}", r->label(), length_of(*r))).second) continue;
      lengths.insert(length_of(*r));
      series_of(plot.series, r->label())
          .points.push_back(
              {static_cast<double>(length_of(*r)), rate_of(*r), row_text(*r), rate_spread(*r)});
      limit = std::max(limit, r->is_decode() ? r->stream_gbps : r->peak_gflops);
    }
    if (lengths.size() < 2) continue;
    for (Series& s : plot.series) {
      std::sort(s.points.begin(), s.points.end(),
                [](const Point& a, const Point& b) { return a.x < b.x; });
    }
    const bool decode = rows.front()->is_decode();
    plot.title = name;
    plot.x = {decode ? "keys" : "query rows", true, {lengths.begin(), lengths.end()}, false};
    plot.y = {rate_unit(*rows.front()), false, {}, true};
    if (limit > 0) {
      plot.limits.push_back({fmt::format("{} {:.0f} {}", decode ? "plain read" : "multiply-adds",
                                         limit, rate_unit(*rows.front())),
                             {{static_cast<double>(*lengths.begin()), limit, "", 0},
                              {static_cast<double>(*lengths.rbegin()), limit, "", 0}}});
    }
    figures += figure(page, name.substr(0, name.find(", ")), name.substr(name.find(", ") + 2),
                      plot_svg(plot), legend_of(page, plot.series));
  }
  return section(page, "scaling", "Scaling with length",
                 "Rates of useful work at rising lengths; upright strokes are the spread.",
                 figures);
}

std::string schedules_section(const PageTemplate& page, const ReportData& data) {
  std::string figures;
  for (const auto& [name, all] : cases_of(data)) {
    std::map<std::string, std::vector<const BenchRow*>> by_kernel;
    for (const BenchRow* r : all) {
      if (r->is_fovea() && r->is_measured()) by_kernel[r->label()].push_back(r);
    }
    for (const auto& [kernel, rows] : by_kernel) {
      std::vector<std::string> schedules;
      for (const BenchRow* r : rows) schedules.push_back(r->schedule);
      if (std::set<std::string>(schedules.begin(), schedules.end()).size() < 2) continue;
      std::vector<Bar> bars;
      for (const BenchRow* r : rows) {
        bars.push_back(
            {difference(r->schedule, schedules),
             fmt::format("{} ({:.2f} ×)", rate_text(*r), rows.front()->median_s / r->median_s),
             rate_of(*r), rate_spread(*r), bars.empty() ? 0 : 2});
      }
      figures +=
          figure(page, kernel, name, bars_svg("schedules of " + kernel + ", " + name, bars), "");
    }
  }
  return section(
      page, "schedules", "Schedules side by side",
      "The same kernel under different schedules, named by what differs; × compares with "
      "the first.",
      figures);
}

std::string tuning_section(const PageTemplate& page, const ReportData& data) {
  std::vector<std::pair<std::string, std::vector<const TuningRow*>>> searches;
  for (const TuningRow& r : data.tuning) {
    const std::string name = r.workload.empty() ? r.kernel : r.kernel + ", " + r.workload;
    auto it = std::find_if(searches.begin(), searches.end(),
                           [&](const auto& known) { return known.first == name; });
    if (it == searches.end()) it = searches.insert(it, {name, {}});
    it->second.push_back(&r);
  }
  std::string figures;
  for (const auto& [name, rows] : searches) {
    Series tried, best;
    tried.name = "candidate";
    tried.line = false;
    tried.style = 6;
    best.name = "best so far";
    best.style = 0;
    std::map<std::string, int> failures;
    double most = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const TuningRow& r = *rows[i];
      if (r.speedup <= 0) {
        ++failures[r.status.empty() ? "not timed" : r.status];
        continue;
      }
      const double x = static_cast<double>(i + 1);
      const std::string text = fmt::format("{:.3f} ×: {}", r.speedup, r.schedule);
      tried.points.push_back({x, r.speedup, text, 0});
      if (r.speedup <= most) continue;
      if (most > 0) best.path.push_back({x, most, "", 0});
      best.path.push_back({x, r.speedup, "", 0});
      best.points.push_back({x, r.speedup, text, 0});
      most = r.speedup;
    }
    if (tried.points.size() < 2) continue;
    best.path.push_back({static_cast<double>(rows.size()), most, "", 0});
    std::string caption = fmt::format("{} candidates", rows.size());
    for (const auto& [status, count] : failures) caption += fmt::format(", {} {}", count, status);
    Plot plot;
    plot.title = "search of " + name;
    plot.x = {"candidate", false, {}, false};
    plot.y = {"times the speed of the default", false, {}, false};
    plot.limits.push_back(
        {"the documented default", {{1, 1, "", 0}, {static_cast<double>(rows.size()), 1, "", 0}}});
    plot.series = {tried, best};
    figures += figure(page, name, caption, plot_svg(plot), legend_of(page, plot.series));
  }
  return section(page, "tuning", "Tuning progress",
                 "Speed of the candidates of each search, in the order in which they were tried.",
                 figures);
}

}  // namespace fovea::report
