// tables.cpp: the parts of a report that are text: summary, kernels, peers, how to repeat.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "generators/report/report_page.h"

namespace fovea::report {
namespace {

struct Column {
  const char* name;
  bool is_number;
};

std::string head_of(const PageTemplate& page, const std::vector<Column>& columns) {
  std::string head;
  for (const Column& c : columns) {
    head +=
        page.fill("head", {{"text", c.name}, {"class", c.is_number ? " class=\"number\"" : ""}});
  }
  return head;
}

std::string cell(const PageTemplate& page, const std::string& text) {
  return page.fill("cell", {{"text", text}});
}
std::string number(const PageTemplate& page, const std::string& text) {
  return page.fill("number", {{"text", text}});
}
std::string share(const PageTemplate& page, double fraction) {
  return page.fill("share", {{"percent", fmt::format("{:.0f}", 100 * fraction)},
                             {"text", fmt::format("{:.0f} %", 100 * fraction)}});
}

std::string table(const PageTemplate& page, const std::vector<Column>& columns,
                  const std::string& rows) {
  return page.fill("table", {{"head", head_of(page, columns)}, {"rows", rows}});
}

std::string milliseconds(const BenchRow& r) {
  return fmt::format("{:.4g} ± {:.1f} %", 1e3 * r.median_s, 100 * r.mad_s / r.median_s);
}

std::string tile(const PageTemplate& page, const std::string& name, const std::string& value,
                 const std::string& remark) {
  return page.fill("tile", {{"name", name}, {"value", value}, {"remark", remark}});
}

// A line must not end between the hyphens of an option and its name.
std::string unbroken_options(const std::string& command) {
  std::string html;
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (!html.empty()) html += " ";
    html += word.starts_with("--") ? "<i>" + escaped(word) + "</i>" : escaped(word);
  }
  return html;
}

std::string setting_text(const BenchRow& r) {
  return r.variant + (r.settings.empty() ? "" : " " + r.settings);
}

}  // namespace

double rate_of(const BenchRow& row) { return row.is_decode() ? row.gbps : row.gflops; }
const char* rate_unit(const BenchRow& row) { return row.is_decode() ? "GB/s" : "GFLOP/s"; }
std::string rate_text(const BenchRow& row) {
  return fmt::format("{:.1f} {}", rate_of(row), rate_unit(row));
}
double rate_spread(const BenchRow& row) {
  return row.median_s > 0 ? rate_of(row) * row.mad_s / row.median_s : 0;
}

Cases cases_of(const ReportData& data) {
  Cases cases;
  for (const BenchRow& r : data.rows) {
    const std::string name = r.case_name();
    auto it = std::find_if(cases.begin(), cases.end(),
                           [&](const auto& known) { return known.first == name; });
    if (it == cases.end()) it = cases.insert(it, {name, {}});
    it->second.push_back(&r);
  }
  return cases;
}

const BenchRow* best_peer(const std::vector<const BenchRow*>& rows) {
  const BenchRow* best = nullptr;
  for (const BenchRow* r : rows) {
    const bool counts = r->is_measured() && !r->is_fovea() && r->engine != "plain";
    if (counts && (best == nullptr || r->median_s < best->median_s)) best = r;
  }
  return best;
}

std::string summary_section(const PageTemplate& page, const ReportData& data) {
  size_t kernels = 0, failed = 0, beyond = 0, compared = 0;
  double logs = 0, least = 0, most = 0;
  const BenchRow *best_prefill = nullptr, *best_decode = nullptr;
  for (const auto& [name, rows] : cases_of(data)) {
    const BenchRow* peer = best_peer(rows);
    const BenchRow* own = nullptr;
    for (const BenchRow* r : rows) {
      if (!r->is_fovea()) continue;
      if (!r->is_measured()) {
        ++failed;
        continue;
      }
      ++kernels;
      if (r->max_abs_error > r->error_bound) ++beyond;
      const BenchRow*& best = r->is_decode() ? best_decode : best_prefill;
      if (best == nullptr || r->fraction() > best->fraction()) best = r;
      if (own == nullptr || r->median_s < own->median_s) own = r;
    }
    if (peer == nullptr || own == nullptr) continue;
    const double ratio = peer->median_s / own->median_s;
    logs += std::log(ratio);
    least = compared == 0 ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
    ++compared;
  }
  std::string tiles = tile(page, "kernels measured", std::to_string(kernels),
                           failed == 0 ? "none failed" : fmt::format("{} could not be", failed));
  tiles += tile(page, "within the error bound", fmt::format("{} of {}", kernels - beyond, kernels),
                "against the double-precision reference");
  for (const BenchRow* best : {best_prefill, best_decode}) {
    if (best == nullptr) continue;
    tiles += tile(page, best->is_decode() ? "most of a plain read" : "most of the f32 peak",
                  fmt::format("{:.0f} %", 100 * best->fraction()),
                  fmt::format("{}, {} {}", rate_text(*best), best->variant, best->dtype));
  }
  if (compared > 0) {
    tiles +=
        tile(page, "beside the best peer",
             fmt::format("{:.2f} ×", std::exp(logs / static_cast<double>(compared))),
             fmt::format("geometric mean of {} cases, {:.2f} to {:.2f}", compared, least, most));
  }
  return page.fill("section", {{"id", "summary"},
                               {"title", "Summary"},
                               {"lead",
                                "Every result was compared with the reference before it was timed; "
                                "times are medians, ± is the median deviation from them."},
                               {"body", page.fill("tiles", {{"tiles", tiles}})}});
}

std::string kernels_section(const PageTemplate& page, const ReportData& data) {
  std::string rows;
  for (const auto& [name, all] : cases_of(data)) {
    const BenchRow* peer = best_peer(all);
    for (const BenchRow* r : all) {
      if (!r->is_fovea()) continue;
      std::string cells = cell(page, setting_text(*r)) + cell(page, r->pass + " " + r->dtype) +
                          cell(page, r->shape) + number(page, std::to_string(r->threads)) +
                          cell(page, r->target);
      if (!r->is_measured()) {
        cells += cell(page, r->cannot);
        for (int i = 0; i < 4; ++i) cells += cell(page, "");
      } else {
        cells += number(page, milliseconds(*r)) + number(page, rate_text(*r)) +
                 share(page, r->fraction()) +
                 number(page, peer ? fmt::format("{:.2f} × {}", peer->median_s / r->median_s,
                                                 peer->engine)
                                   : "–") +
                 number(page, r->error_bound > 0
                                  ? fmt::format("{:.0f} %", 100 * r->max_abs_error / r->error_bound)
                                  : "–");
      }
      rows += page.fill("row", {{"cells", cells}});
    }
  }
  if (rows.empty()) return "";
  const std::vector<Column> columns = {{"variant", false}, {"kind", false},    {"shape", false},
                                       {"threads", true},  {"target", false},  {"ms", true},
                                       {"rate", true},     {"of limit", true}, {"best peer", true},
                                       {"error", true}};
  return page.fill(
      "section",
      {{"id", "kernels"},
       {"title", "All kernels"},
       {"lead",
        "The limit of prefill is the multiply-adds that the same threads did in the same "
        "rounds, that of decode a plain read of as many bytes. Work on hidden pairs does "
        "not count. The error is the largest one beside the reference, as a share of what "
        "the contract allows."},
       {"body", table(page, columns, rows)}});
}

std::string peers_section(const PageTemplate& page, const ReportData& data) {
  std::vector<std::string> engines;
  for (const BenchRow& r : data.rows) {
    if (!r.is_fovea() && r.is_measured() &&
        std::find(engines.begin(), engines.end(), r.engine) == engines.end())
      engines.push_back(r.engine);
  }
  if (engines.empty()) return "";
  std::sort(engines.begin(), engines.end());
  std::string rows;
  for (const auto& [name, all] : cases_of(data)) {
    const BenchRow* own = nullptr;
    for (const BenchRow* r : all) {
      if (r->is_fovea() && r->is_measured() && (!own || r->median_s < own->median_s)) own = r;
    }
    const BenchRow* peer = best_peer(all);
    const bool has_other = std::any_of(all.begin(), all.end(), [](const BenchRow* r) {
      return !r->is_fovea() && r->is_measured();
    });
    if (own == nullptr || !has_other) continue;
    std::string cells = cell(page, name) + number(page, fmt::format("{:.1f}", rate_of(*own)));
    for (const std::string& engine : engines) {
      const auto it = std::find_if(all.begin(), all.end(), [&](const BenchRow* r) {
        return r->engine == engine && r->is_measured();
      });
      // Beyond the bound of a kernel: it computed with less precision.
      cells +=
          number(page, it == all.end()
                           ? "–"
                           : fmt::format("{:.1f}{}", rate_of(**it),
                                         (*it)->max_abs_error > (*it)->error_bound ? " !" : ""));
    }
    cells += number(page, peer ? fmt::format("{:.2f} ×", peer->median_s / own->median_s) : "–");
    cells += cell(page, rate_unit(*own));
    rows += page.fill("row", {{"cells", cells}});
  }
  std::vector<Column> columns = {{"case", false}, {"fovea", true}};
  for (const std::string& engine : engines) columns.push_back({engine.c_str(), true});
  columns.push_back({"to the best", true});
  columns.push_back({"unit", false});
  std::string body = table(page, columns, rows);
  std::string versions, seen;
  for (const BenchRow& r : data.rows) {
    if (r.is_fovea() || r.version.empty() || seen.find(r.version + "\n") != std::string::npos)
      continue;
    seen += r.version + "\n";
    versions += page.fill("item", {{"text", r.engine + ": " + r.version}});
  }
  for (const std::string& m : data.missing)
    versions += page.fill("item", {{"text", "was not there: " + m}});
  if (!versions.empty()) {
    body += page.fill("subhead", {{"text", "Who took part"}}) +
            page.fill("list", {{"items", versions}});
  }
  return page.fill(
      "section",
      {{"id", "peers"},
       {"title", "Beside other implementations"},
       {"lead",
        "Same inputs, same run, in turn. ! marks a result that is further from the reference "
        "than a kernel may be. “To the best” compares with the fastest peer; a plain loop "
        "is none."},
       {"body", body}});
}

std::string repeat_section(const PageTemplate& page, const ReportData& data) {
  std::string items;
  for (const BenchRow& r : data.rows) {
    if (r.command.empty() || !r.is_measured()) continue;
    items += page.fill("repeat", {{"name", r.label() + ", " + r.case_name()},
                                  {"value", rate_text(r)},
                                  {"command", unbroken_options(r.command)}});
  }
  if (items.empty()) return "";
  std::string body = page.fill("repeats", {{"items", items}});
  std::string sources;
  for (const std::string& s : data.sources) sources += page.fill("item", {{"text", s}});
  for (const std::string& r : data.remarks) sources += page.fill("item", {{"text", r}});
  body += page.fill("subhead", {{"text", "Files this page was made from"}}) +
          page.fill("list", {{"items", sources}});
  return page.fill("section", {{"id", "repeat"},
                               {"title", "How to repeat each number"},
                               {"lead",
                                "Each command measures its row again, beside the peak and "
                                "the memory of the machine it runs on."},
                               {"body", body}});
}

}  // namespace fovea::report
