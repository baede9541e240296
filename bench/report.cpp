// report.cpp: a report as JSON and as text.
// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "generators/describe/layout.h"

namespace fovea::bench {

double CaseResult::gflops(const Row& row) const {
  const double median = row.seconds.median();
  return median > 0 ? flops / median * 1e-9 : 0;
}

double CaseResult::gbps(const Row& row) const {
  return (row.bytes > 0 ? row.bytes : bytes) / row.seconds.median() * 1e-9;
}

double CaseResult::fraction_of_stream(const Row& row) const {
  return gbps(row) / stream_gbps.median();
}

double CaseResult::fraction_of_peak(const Row& row) const {
  const double peak = row.peak_gflops.maximum();
  return peak > 0 ? gflops(row) / peak : 0;
}

const Row* CaseResult::best_peer() const {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.is_peer() && row.cannot.empty() && (!best || gflops(row) > gflops(*best))) best = &row;
  }
  return best;
}

nlohmann::ordered_json report_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json root = {{"date", report.date},
               {"cpu", report.cpu},
               {"versions", report.versions},
               {"missing", report.missing},
               {"rows", Json::array()}};
  for (const CaseResult& c : report.cases) {
    const Row* best = c.best_peer();
    for (const Row& row : c.rows) {
      Json out = {{"engine", row.engine},   {"version", row.version},
                  {"variant", c.variant},   {"pass", c.pass},
                  {"dtype", c.dtype},       {"shape", c.shape},
                  {"settings", c.settings}, {"target", row.target},
                  {"kv_cache", row.cache},  {"schedule", row.schedule},
                  {"threads", c.threads},   {"caches", c.cold ? "cold" : "warm"},
                  {"notes", row.notes}};
      if (!row.cannot.empty()) {
        out["cannot"] = row.cannot;
      } else {
        const double median = row.seconds.median();
        out["median_s"] = median;
        out["min_s"] = row.seconds.minimum();
        out["mad_s"] = row.seconds.mad();
        out["n"] = row.seconds.values.size();
        out["calls"] = row.calls;
        out["prepare_s"] = row.prepare_s;
        out["gflops"] = c.gflops(row);
        out["gbps"] = c.gbps(row);
        out["stream_gbps"] = c.is_decode() ? c.stream_gbps.median() : c.stream_gbps.maximum();
        out["peak_gflops"] = row.peak_gflops.maximum();
        out["fraction_of_peak"] = c.fraction_of_peak(row);
        if (best && row.is_fovea()) {
          out["best_peer"] = best->engine;
          out["ratio_to_best_peer"] = c.gflops(row) / c.gflops(*best);
        }
        out["max_abs_error"] = row.error.max_abs;
        out["error_bound"] = row.error.bound;
        out["within_bound"] = row.error.ok();
      }
      out["command"] = row.command;
      root["rows"].push_back(std::move(out));
    }
  }
  return root;
}

namespace {

std::string row_name(const CaseResult& c, const Row& row) {
  std::string name = row.is_fovea() ? "fovea " + row.target : row.engine;
  if (row.cache != "none") name += " " + row.cache;
  // Several schedules of one target are told apart by what was asked for.
  const auto same = std::count_if(c.rows.begin(), c.rows.end(), [&](const Row& other) {
    return row.is_fovea() && other.is_fovea() && other.target == row.target &&
           other.cache == row.cache;
  });
  if (same > 1) name += row.overrides.empty() ? " (default)" : " " + row.overrides;
  return name;
}

std::string milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return ms < 10 ? fmt::format("{:.4f}", ms) : fmt::format("{:.2f}", ms);
}

}  // namespace

std::string report_text(const Report& report) {
  std::string out = fmt::format("{}, {}\n", report.cpu, report.date);
  for (const std::string& m : report.missing) out += wrapped("peer ", 5, m);
  size_t width = 10;
  for (const CaseResult& c : report.cases) {
    for (const Row& row : c.rows) width = std::max(width, row_name(c, row).size());
  }
  for (const CaseResult& c : report.cases) {
    out += fmt::format("\n{} {} {} {}{}{}, {} thread{}{}\n", c.variant, c.pass, c.dtype, c.shape,
                       c.settings.empty() ? "" : " ", c.settings, c.threads,
                       c.threads == 1 ? "" : "s", c.cold ? ", cold caches" : "");
    const bool decode = c.is_decode();
    out += fmt::format("  {:<{}} {:>10} {:>7} {:>8} {:>9} {:>7}  {}\n", "", width, "ms", "spread",
                       decode ? "GB/s" : "GFLOP/s", decode ? "of stream" : "of peak", "of best",
                       "max error");
    const Row* best = c.best_peer();
    std::string cannot;
    for (const Row& row : c.rows) {
      if (!row.cannot.empty()) {
        cannot += wrapped(fmt::format("  {:<{}} ", row_name(c, row), width), width + 3, row.cannot);
        continue;
      }
      const double median = row.seconds.median();
      out += fmt::format(
          "  {:<{}} {:>10} {:>5.1f} % {:>8.1f} {:>7.1f} % {:>7}  {:.1e}{}\n", row_name(c, row),
          width, milliseconds(median), 100 * row.seconds.mad() / median,
          decode ? c.gbps(row) : c.gflops(row),
          100 * (decode ? c.fraction_of_stream(row) : c.fraction_of_peak(row)),
          best && row.is_fovea() ? fmt::format("{:.2f}", c.gflops(row) / c.gflops(*best)) : "",
          row.error.max_abs, row.error.ok() ? "" : " !");
    }
    out += cannot;
  }
  out +=
      "\nspread: median deviation from the median; GFLOP/s: of the pairs that the mask keeps; of "
      "peak:\nof the multiply-adds measured in the same run; GB/s: of inputs and output, each "
      "once; of "
      "stream: of\na plain read of as many bytes; of best: beside the fastest peer; !: error above "
      "the bound of\nthe contract\n";
  return out;
}

namespace {

// "AMD EPYC, 2026-01-31; FMA peak 117 GFLOP/s on 1 thread, …; fovea 0.1.0, …"
std::string stamp(const Report& report) {
  std::map<int, double> peaks;  // by threads; that of the widest vectors is the largest
  std::vector<std::string> versions = report.versions;
  for (const CaseResult& c : report.cases) {
    for (const Row& row : c.rows) {
      double& peak = peaks[c.threads];
      peak = std::max(peak, row.peak_gflops.maximum());
      const bool listed =
          std::find(versions.begin(), versions.end(), row.version) != versions.end();
      if (!row.version.empty() && !listed) versions.push_back(row.version);
    }
  }
  std::vector<std::string> rates;
  for (const auto& [threads, peak] : peaks)
    rates.push_back(
        fmt::format("{:.0f} GFLOP/s on {} thread{}", peak, threads, threads == 1 ? "" : "s"));
  return fmt::format("{}, {}; FMA peak {}; {}.\n\n", report.cpu, report.date,
                     fmt::join(rates, ", "), fmt::join(versions, ", "));
}

}  // namespace

std::string report_markdown(const Report& report) {
  std::vector<std::string> peers;
  for (const CaseResult& c : report.cases) {
    for (const Row& row : c.rows) {
      const bool listed = std::find(peers.begin(), peers.end(), row.engine) != peers.end();
      if (!row.is_fovea() && row.cannot.empty() && !listed) peers.push_back(row.engine);
    }
  }
  std::string out = stamp(report) + "| variant | type | shape | threads | fovea | of peak |";
  for (const std::string& p : peers) out += fmt::format(" {} |", p);
  out += " to the best |\n|---|---|---|---|---|---|";
  for (size_t i = 0; i <= peers.size(); ++i) out += "---|";
  out += "\n";
  for (const CaseResult& c : report.cases) {
    const Row* best = c.best_peer();
    for (const Row& row : c.rows) {
      if (!row.is_fovea()) continue;
      out += fmt::format("| {}{}{} | {} | {} | {} |", c.variant, c.settings.empty() ? "" : " ",
                         c.settings, row.cache == "none" ? c.dtype : c.dtype + ", " + row.cache,
                         c.shape, c.threads);
      if (!row.cannot.empty()) {
        out += " – | – |";
      } else {
        out += fmt::format(" {:.1f} ± {:.1f} % | {:.0f} % |", c.gflops(row),
                           100 * row.seconds.mad() / row.seconds.median(),
                           100 * c.fraction_of_peak(row));
      }
      for (const std::string& p : peers) {
        const auto found = std::find_if(c.rows.begin(), c.rows.end(), [&](const Row& r) {
          return r.engine == p && r.cannot.empty();
        });
        out += found == c.rows.end()
                   ? " – |"
                   : fmt::format(" {:.1f}{} |", c.gflops(*found), found->error.ok() ? "" : " !");
      }
      out += best && row.cannot.empty()
                 ? fmt::format(" {:.2f} |\n", c.gflops(row) / c.gflops(*best))
                 : " – |\n";
    }
  }
  return out;
}

}  // namespace fovea::bench
