// database_command.cpp: `database`: files of tuning records: list, merge, prune, export, diff.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "generators/database/database_views.h"
#include "generators/database/tuned_schedules.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct DatabaseArguments {
  std::vector<std::string> files;
  std::string file, out, before, after;
  bool json = false, all = false;
};

std::vector<StoredRecord> read_all(const std::vector<std::string>& files) {
  std::vector<StoredRecord> all;
  for (const std::string& file : files) {
    const TuningFile read = read_tuning_file(file);
    for (const std::string& problem : read.problems) fmt::print(stderr, "{}\n", problem);
    all.insert(all.end(), read.records.begin(), read.records.end());
  }
  return all;
}

std::vector<TuningRecord> records_of(const std::vector<std::string>& files) {
  std::vector<TuningRecord> records;
  for (StoredRecord& stored : read_all(files)) records.push_back(std::move(stored.record));
  return records;
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void list(const DatabaseArguments& a) {
  const TuningEnvironment now = this_environment();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const StoredRecord& stored : read_all(a.files)) {
    const TuningRecord& r = stored.record;
    const bool entry = r.effort == Effort::Final && r.status == TrialStatus::Ok;
    if (!entry && !a.all) continue;
    const std::string mismatch = soft_mismatch(r, now);
    if (a.json) {
      nlohmann::ordered_json row = record_json(r);
      row["file"] = stored.file.string();
      row["line"] = stored.line;
      row["mismatch"] = mismatch;
      rows.push_back(std::move(row));
      continue;
    }
    fmt::print("{}: {}, {}, {} x, {}{}{}\n  {}\n", stored.place(), r.kernel, r.workload.name,
               r.speedup > 0 ? fmt::format("{:.3f}", r.speedup) : "-",
               r.status == TrialStatus::Ok ? effort_name(r.effort) : status_name(r.status),
               r.reason.empty() ? "" : ": " + r.reason,
               mismatch.empty() ? "" : "; not as here: " + mismatch, r.schedule);
  }
  if (a.json) print_json(rows);
}

void merge(const DatabaseArguments& a) {
  std::vector<std::string> files = a.files;
  // What is there already is kept.
  if (std::filesystem::exists(a.out)) files.push_back(a.out);
  const std::vector<TuningRecord> records = records_of(files);
  write_tuning_file(a.out, records);
  fmt::print(stderr, "{}: {} records of {} files\n", a.out, read_tuning_file(a.out).records.size(),
             files.size());
}

void prune(const DatabaseArguments& a) {
  const std::vector<TuningRecord> records = records_of({a.file}), kept = pruned(records);
  write_tuning_file(a.file, kept);
  fmt::print(stderr, "{}: {} of {} records kept\n", a.file, kept.size(), records.size());
}

void export_winners(const DatabaseArguments& a) {
  const std::vector<TuningRecord> kept = exported(records_of(a.files));
  write_tuning_file(a.out, kept);
  fmt::print(stderr, "{}: {} entries\n", a.out, kept.size());
}

void diff(const DatabaseArguments& a) {
  const std::vector<TuningRecord> before = winners(records_of({a.before})),
                                  after = winners(records_of({a.after}));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const WinnerChange& change : changes(before, after)) {
    if (a.json) {
      rows.push_back({{"key", change.key},
                      {"before", change.before ? record_json(*change.before) : nullptr},
                      {"after", change.after ? record_json(*change.after) : nullptr}});
      continue;
    }
    fmt::print("{}\n", change.key);
    for (const auto& [sign, r] : {std::pair{'-', change.before}, std::pair{'+', change.after}}) {
      if (r) fmt::print("{} {:.3f} x  {}\n", sign, r->speedup, r->schedule);
    }
  }
  if (a.json) print_json(rows);
}

}  // namespace

void add_database_command(CLI::App& app) {
  auto a = std::make_shared<DatabaseArguments>();
  CLI::App* database =
      app.add_subcommand("database", "files of tuning records: list, merge, prune, export, diff");
  database->require_subcommand(1);
  database->footer(
      "example: fovea database list mine.jsonl\n"
      "         fovea database merge all.jsonl monday.jsonl tuesday.jsonl\n"
      "         fovea database export x86-zen4.jsonl all.jsonl");

  CLI::App* one = database->add_subcommand("list", "the entries that builds may take");
  one->add_option("files", a->files, "tuning files")->required();
  one->add_flag("--all", a->all, "every record, failures as well");
  one->add_flag("--json", a->json, "one JSON array");
  one->callback([a] { list(*a); });

  one = database->add_subcommand("merge", "all records of several files, each once, in one");
  one->add_option("out", a->out, "file to write; what it holds is kept")->required();
  one->add_option("files", a->files, "files to read")->required();
  one->callback([a] { merge(*a); });

  one = database->add_subcommand(
      "prune", "keep winners, and what was tried in searches that have not ended");
  one->add_option("file", a->file, "file to rewrite")->required();
  one->callback([a] { prune(*a); });

  one = database->add_subcommand("export", "winners only, with medians only: a file to commit");
  one->add_option("out", a->out, "file to write")->required();
  one->add_option("files", a->files, "files to read")->required();
  one->callback([a] { export_winners(*a); });

  one = database->add_subcommand("diff", "kernels whose winners differ between two files");
  one->add_option("before", a->before, "file")->required();
  one->add_option("after", a->after, "file")->required();
  one->add_flag("--json", a->json, "one JSON array");
  one->callback([a] { diff(*a); });
}

}  // namespace fovea
