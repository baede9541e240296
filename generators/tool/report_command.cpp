// report_command.cpp: `report`: measurements as a page.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "bench/default_target.h"
#include "generators/describe/layout.h"
#include "generators/emit/files.h"
#include "generators/report/mask_tiles.h"
#include "generators/report/report_page.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct ReportArguments {
  std::vector<std::string> files, tuning, variants;
  std::string out = "report.html", title = "Attention kernels, measured", target;
  bool json = false;
};

// The scalars that the first row of the variant was measured with, as bench writes them.
ScalarValues settings_of(const Variant& v, const report::ReportData& data) {
  ScalarValues values;
  for (const report::BenchRow& r : data.rows) {
    if (r.variant != v.name()) continue;
    std::istringstream words(r.settings);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      const Parameter* p = v.find_parameter(word.substr(0, equals));
      double number = 0;
      const char* end = word.data() + word.size();
      const auto [read, error] = std::from_chars(word.data() + equals + 1, end, number);
      if (p && p->kind == Parameter::Kind::Scalar && error == std::errc() && read == end)
        values[p->name] = number;
    }
    break;
  }
  return values;
}

// Those that were asked for, or those of the rows.
std::vector<report::PicturedVariant> pictured(const ReportArguments& a,
                                              const std::vector<Variant>& declared,
                                              const report::ReportData& data) {
  std::vector<std::string> names = a.variants;
  if (names.empty()) {
    for (const report::BenchRow& r : data.rows) {
      if (std::find(names.begin(), names.end(), r.variant) == names.end())
        names.push_back(r.variant);
    }
  }
  std::vector<std::string> known;
  for (const Variant& v : declared) known.push_back(v.name());
  std::vector<report::PicturedVariant> chosen;
  for (const std::string& name : names) {
    const auto it = std::find(known.begin(), known.end(), name);
    if (it != known.end()) {
      const Variant& v = declared[static_cast<size_t>(it - known.begin())];
      chosen.emplace_back(&v, settings_of(v, data));
    } else if (!a.variants.empty() && name != "none") {
      throw std::invalid_argument(fmt::format(
          "--variant '{}': allowed is a declared one, or none{}", name, suggestion(name, known)));
    }
  }
  return chosen;
}

void run_report(const ReportArguments& a) {
  report::ReportData data;
  std::string command = "fovea report";
  for (const std::string& file : a.files) {
    command += " " + file;
    report::add_bench_rows(file, read_file(file), data);
  }
  for (const std::string& file : a.tuning) {
    command += " --tuning " + file;
    report::add_tuning_lines(file, read_file(file), data);
  }
  if (a.files.empty() && a.tuning.empty()) {
    throw std::invalid_argument(
        "report draws what was measured: allowed are files of `fovea bench --json` and, after "
        "--tuning, of a tuning database");
  }
  for (const std::string& remark : data.remarks) fmt::print(stderr, "{}\n", remark);
  const std::vector<Variant> declared = declared_variants();
  const std::string target = a.target.empty() ? bench::default_target(FOVEA_F32, "f32") : a.target;
  const TargetRow* row = find_target(target);
  if (row == nullptr) {
    std::vector<std::string> names;
    for (const TargetRow& r : target_table()) names.emplace_back(r.name);
    throw std::invalid_argument(fmt::format("--target '{}': allowed is one of the list{}", target,
                                            suggestion(target, names)));
  }
  const std::vector<report::MaskPicture> masks =
      report::mask_pictures(pictured(a, declared, data), *row);
  write_if_changed(a.out, report::report_page(data, masks, a.title, command + " --out " + a.out));
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"file", a.out},
                                              {"rows", data.rows.size()},
                                              {"candidates", data.tuning.size()},
                                              {"masks", masks.size()},
                                              {"remarks", data.remarks}}
                           .dump(2));
  } else {
    fmt::print("{}: {} rows, {} candidates of searches, {} masks\n", a.out, data.rows.size(),
               data.tuning.size(), masks.size());
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto a = std::make_shared<ReportArguments>();
  CLI::App* report =
      app.add_subcommand("report", "measurements as one HTML file that needs no network");
  report->footer(
      "example: fovea bench --shape 'sq=512|2048|8192' --json > rows.json\n"
      "         fovea report rows.json --out report.html");
  report->add_option("files", a->files, "what `fovea bench --json` printed, or a row a line");
  report->add_option("--tuning", a->tuning, "lines of a tuning database");
  report->add_option("--out", a->out, "file to write")->capture_default_str();
  report->add_option("--title", a->title, "of the page")->capture_default_str();
  report
      ->add_option("--variant", a->variants,
                   "variants whose masks are drawn, or none; default: those of the rows")
      ->delimiter(',');
  report->add_option("--target", a->target,
                     "whose tiles are drawn; default: the one the dispatcher would choose");
  report->add_flag("--json", a->json, "say what was written as one JSON object");
  report->callback([a] { run_report(*a); });
}

}  // namespace fovea
