// tuning_record.cpp: records as JSON.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/tuning_record.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "bench/samples.h"

namespace fovea {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array statuses = {"ok", "slower", "compile", "crash", "timeout", "memory", "wrong"};
constexpr std::array efforts = {"screen", "compare", "final"};

// "lanes=16 row_vectors=2" as an object.
Json schedule_json(const std::string& text) {
  Json out = Json::object();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    int value = 0;
    std::from_chars(word.data() + equals + 1, word.data() + word.size(), value);
    out[word.substr(0, equals)] = value;
  }
  return out;
}

std::string schedule_text(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items())
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value.get<int>());
  return text;
}

// A number of a time is written with few digits: the eighth tells nothing.
double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(x))) - 5);
  return std::stod(fmt::format("{:.6g}", std::round(x / unit) * unit));
}

std::vector<double> rounded(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double x : values) out.push_back(rounded(x));
  return out;
}

template <size_t N>
size_t index_of(const std::array<const char*, N>& names, const std::string& name,
                const char* field) {
  for (size_t i = 0; i < N; ++i) {
    if (name == names[i]) return i;
  }
  throw std::invalid_argument(
      fmt::format("{} '{}': allowed is {}", field, name, fmt::join(names, ", ")));
}

}  // namespace

const char* status_name(TrialStatus status) { return statuses[static_cast<size_t>(status)]; }
const char* effort_name(Effort effort) { return efforts[static_cast<size_t>(effort)]; }

Json record_json(const TuningRecord& r) {
  Json timings = Json::array();
  for (const ShapeTiming& t : r.timings) {
    const bench::Samples own{t.seconds}, other{t.incumbent_seconds};
    timings.push_back({{"shape", t.shape},
                       {"median_s", rounded(own.median())},
                       {"mad_s", rounded(own.mad())},
                       {"incumbent_median_s", rounded(other.median())},
                       {"seconds", rounded(t.seconds)},
                       {"incumbent_seconds", rounded(t.incumbent_seconds)}});
  }
  const TuningEnvironment& e = r.environment;
  Json json = {
      {"schema", TuningRecord::schema},
      {"kernel", r.kernel},
      {"workload",
       {{"class", r.workload.name},
        {"shapes", r.workload.shapes},
        {"settings", r.workload.settings},
        {"threads", r.workload.threads}}},
      {"status", status_name(r.status)},
      {"reason", r.reason},
      {"effort", effort_name(r.effort)},
      {"speedup", rounded(r.speedup)},
      {"schedule", schedule_json(r.schedule)},
      {"incumbent", schedule_json(r.incumbent)},
      {"verification",
       {{"max_abs_error", rounded(r.max_abs_error)}, {"error_bound", rounded(r.error_bound)}}},
      {"timings", std::move(timings)},
      {"variant_hash", r.variant_hash},
      {"target", r.target},
      {"environment",
       {{"cpu", e.cpu},
        {"cpu_model", e.cpu_model},
        {"features", e.features},
        {"halide", e.halide},
        {"fovea", e.fovea},
        {"compiler", e.compiler}}},
      {"date", r.date}};
  if (!r.judged_by.empty()) json["judged_by"] = r.judged_by;
  return json;
}

std::string record_line(const TuningRecord& record) {
  // What a compiler prints need not be UTF-8, and must not keep the record from being written.
  return record_json(record).dump(-1, ' ', false, Json::error_handler_t::replace);
}

TuningRecord parse_record(const std::string& line) {
  TuningRecord r;
  try {
    const Json json = Json::parse(line);
    const int schema = json.at("schema").get<int>();
    if (schema != TuningRecord::schema)
      throw std::invalid_argument(
          fmt::format("schema {}: this program reads {}", schema, TuningRecord::schema));
    const auto text = [](const Json& from, const char* field) {
      return from.at(field).get<std::string>();
    };
    r.kernel = text(json, "kernel");
    const Json& workload = json.at("workload");
    r.workload = {text(workload, "class"), workload.at("shapes").get<std::vector<std::string>>(),
                  text(workload, "settings"), workload.at("threads").get<int>()};
    r.status = static_cast<TrialStatus>(index_of(statuses, text(json, "status"), "status"));
    r.reason = text(json, "reason");
    r.effort = static_cast<Effort>(index_of(efforts, text(json, "effort"), "effort"));
    r.speedup = json.at("speedup").get<double>();
    r.schedule = schedule_text(json.at("schedule"));
    r.incumbent = schedule_text(json.at("incumbent"));
    r.max_abs_error = json.at("verification").at("max_abs_error").get<double>();
    r.error_bound = json.at("verification").at("error_bound").get<double>();
    for (const Json& t : json.at("timings")) {
      r.timings.push_back({text(t, "shape"), t.at("seconds").get<std::vector<double>>(),
                           t.at("incumbent_seconds").get<std::vector<double>>()});
    }
    r.variant_hash = text(json, "variant_hash");
    r.target = text(json, "target");
    const Json& e = json.at("environment");
    r.environment = {text(e, "cpu"),    text(e, "cpu_model"), text(e, "features"),
                     text(e, "halide"), text(e, "fovea"),     text(e, "compiler")};
    r.date = text(json, "date");
    r.judged_by = json.value("judged_by", "");
  } catch (const Json::exception& error) {
    throw std::invalid_argument(error.what());
  }
  return r;
}

}  // namespace fovea
