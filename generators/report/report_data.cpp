// report_data.cpp: reading rows; fields that are not there keep their defaults.
// SPDX-License-Identifier: Apache-2.0
#include "generators/report/report_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace fovea::report {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

double number_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> all;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return all;
  for (const Json& one : *it) {
    if (one.is_string()) all.push_back(one.get<std::string>());
  }
  return all;
}

BenchRow row_of(const Json& o) {
  BenchRow r;
  r.engine = o.contains("engine") ? text_of(o, "engine") : "fovea";
  r.version = text_of(o, "version");
  r.variant = text_of(o, "variant");
  r.pass = text_of(o, "pass");
  r.dtype = text_of(o, "dtype");
  r.shape = text_of(o, "shape");
  r.settings = text_of(o, "settings");
  r.target = text_of(o, "target");
  r.kv_cache = text_of(o, "kv_cache");
  r.schedule = text_of(o, "schedule");
  r.notes = text_of(o, "notes");
  r.cannot = text_of(o, "cannot");
  r.command = text_of(o, "command");
  r.threads = std::max(1, static_cast<int>(number_of(o, "threads")));
  r.cold = text_of(o, "caches") == "cold";
  r.median_s = number_of(o, "median_s");
  r.mad_s = number_of(o, "mad_s");
  r.n = static_cast<int64_t>(number_of(o, "n"));
  r.gflops = number_of(o, "gflops");
  r.gbps = number_of(o, "gbps");
  r.stream_gbps = number_of(o, "stream_gbps");
  r.peak_gflops = number_of(o, "peak_gflops");
  r.fraction_of_peak = number_of(o, "fraction_of_peak");
  r.max_abs_error = number_of(o, "max_abs_error");
  r.error_bound = number_of(o, "error_bound");
  if (r.cannot.empty() && r.median_s <= 0) r.cannot = "the row has no time";
  return r;
}

bool is_row(const Json& value) {
  return value.is_object() && value.contains("variant") && value.contains("shape");
}

void add_value(const Json& value, ReportData& data) {
  if (value.is_array()) {
    for (const Json& one : value) add_value(one, data);
  } else if (is_row(value)) {
    data.rows.push_back(row_of(value));
  } else if (value.is_object() && value.contains("rows")) {
    std::string machine = text_of(value, "cpu");
    if (const std::string date = text_of(value, "date"); !date.empty()) machine += ", " + date;
    const std::vector<std::string> versions = texts_of(value, "versions");
    if (!versions.empty()) machine += fmt::format("; {}", fmt::join(versions, ", "));
    if (std::find(data.machines.begin(), data.machines.end(), machine) == data.machines.end())
      data.machines.push_back(machine);
    for (const std::string& peer : texts_of(value, "missing")) data.missing.push_back(peer);
    add_value(value.at("rows"), data);
  }
}

// One JSON value a line; a line that is none is a remark.
template <typename F>
void for_each_line(const std::string& name, const std::string& text, ReportData& data, F&& f) {
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Json value = Json::parse(line, nullptr, false);
    if (value.is_discarded()) {
      data.remarks.push_back(fmt::format("{}:{}: no JSON, left out", name, number));
    } else {
      f(value);
    }
  }
}

std::string fields_text(const Json& object) {
  std::vector<std::string> fields;
  if (object.is_string()) return object.get<std::string>();
  if (!object.is_object()) return "";
  for (const auto& [key, value] : object.items()) {
    if (value.is_primitive())
      fields.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{}", fmt::join(fields, ","));
}

// As tuning_record.h describes them.
TuningRow tuning_of(const Json& o) {
  TuningRow r;
  r.kernel = text_of(o, "kernel");
  if (const auto workload = o.find("workload"); workload != o.end() && workload->is_object()) {
    const int threads = std::max(1, static_cast<int>(number_of(*workload, "threads")));
    r.workload = fmt::format("{}{}{}, {} thread{}", text_of(*workload, "class"),
                             text_of(*workload, "settings").empty() ? "" : " ",
                             text_of(*workload, "settings"), threads, threads == 1 ? "" : "s");
  }
  r.status = text_of(o, "status");
  r.schedule = o.contains("schedule") ? fields_text(o.at("schedule")) : "";
  r.speedup = number_of(o, "speedup");
  return r;
}

}  // namespace

std::string BenchRow::label() const {
  if (!is_fovea()) return engine;
  std::string name = "fovea " + target;
  if (!kv_cache.empty() && kv_cache != "none") name += " " + kv_cache;
  return name;
}

std::string BenchRow::case_name() const {
  return fmt::format("{} {} {} {}{}{}, {} thread{}{}", variant, pass, dtype, shape,
                     settings.empty() ? "" : " ", settings, threads, threads == 1 ? "" : "s",
                     cold ? ", cold" : "");
}

int64_t BenchRow::extent(const std::string& name) const {
  std::istringstream words(shape);
  for (std::string word; std::getline(words, word, ',');) {
    if (word.starts_with(name + "=")) return std::atoll(word.c_str() + name.size() + 1);
  }
  return 0;
}

std::string BenchRow::shape_without(const std::vector<std::string>& names) const {
  std::vector<std::string> kept;
  std::istringstream words(shape);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::find(names.begin(), names.end(), word.substr(0, word.find('='))) == names.end())
      kept.push_back(word);
  }
  return fmt::format("{}", fmt::join(kept, ","));
}

void add_bench_rows(const std::string& name, const std::string& text, ReportData& data) {
  const size_t before = data.rows.size();
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_discarded()) {
    add_value(whole, data);
  } else {
    for_each_line(name, text, data, [&](const Json& value) { add_value(value, data); });
  }
  if (data.rows.size() == before) {
    throw std::invalid_argument(fmt::format(
        "'{}' holds no row: allowed is what `fovea bench --json` prints, or a row a line", name));
  }
  data.sources.push_back(name);
}

void add_tuning_lines(const std::string& name, const std::string& text, ReportData& data) {
  const size_t before = data.tuning.size();
  for_each_line(name, text, data, [&](const Json& value) {
    if (value.is_object() && value.contains("kernel")) data.tuning.push_back(tuning_of(value));
  });
  if (data.tuning.size() == before) {
    throw std::invalid_argument(
        fmt::format("'{}' holds no candidate: allowed are lines of a tuning database", name));
  }
  data.sources.push_back(name);
}

}  // namespace fovea::report
