// compare_tuned.cpp: kernel by kernel, and of each the shapes that share a schedule at once.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/compare_tuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "generators/database/tuned_schedules.h"
#include "generators/describe/call_shape.h"
#include "generators/tuner/schedule_space.h"
#include "generators/tuner/time_again.h"
#include "generators/tuner/workloads.h"

namespace fovea {
namespace {

// A kernel of the files; settings and threads are those of its first entry.
struct Kernel {
  KernelSpec spec;
  const Variant* variant = nullptr;
  Workload workload;
};

std::vector<Kernel> kernels_of(const std::vector<std::filesystem::path>& files,
                               const std::vector<Variant>& declared) {
  std::vector<Kernel> all;
  for (const std::filesystem::path& file : files) {
    for (const StoredRecord& stored : read_tuning_file(file).records) {
      const TuningRecord& r = stored.record;
      const std::optional<KernelSpec> spec = parse_kernel_name(r.kernel);
      if (!spec || r.effort != Effort::Final || r.status != TrialStatus::Ok) continue;
      const bool known =
          std::any_of(all.begin(), all.end(), [&](const Kernel& k) { return k.spec == *spec; });
      const auto variant = std::find_if(declared.begin(), declared.end(), [&](const Variant& v) {
        return v.name() == spec->variant;
      });
      if (!known && variant != declared.end()) all.push_back({*spec, &*variant, r.workload});
    }
  }
  return all;
}

bool serves(const TunedChoice& choice, const ExampleShape& shape) {
  return (choice.most_rows == 0 || shape.q_len <= choice.most_rows) &&
         (choice.most_keys == 0 || shape.kv_len <= choice.most_keys);
}

void compare(const Kernel& k, const std::vector<TunedChoice>& choices,
             const std::vector<Variant>& declared, const TrialOptions& options,
             std::vector<ComparedShape>& rows) {
  const ScheduleSpace space = schedule_space(k.spec, *k.variant);
  const std::string usual = text_of(space.schedule(space.usual()));
  std::map<std::string, std::vector<ExampleShape>> shapes_of;  // by schedule
  const size_t first = rows.size();
  for (const char* workload : {"short", "long"}) {
    for (const ExampleShape& shape :
         workload_shapes(workload, k.spec.pass, k.spec.d_qk, k.spec.d_v)) {
      const auto choice = std::find_if(choices.begin(), choices.end(),
                                       [&](const TunedChoice& c) { return serves(c, shape); });
      const std::string schedule = choice == choices.end() ? usual : choice->schedule;
      ComparedShape& row = rows.emplace_back();
      row.kernel = kernel_name(k.spec);
      row.settings = k.workload.settings;
      row.shape = call_shape_text(shape);
      row.workload = workload;
      row.different = schedule_difference(schedule, usual);
      if (schedule != usual) shapes_of[schedule].push_back(shape);
    }
  }
  for (const auto& [schedule, shapes] : shapes_of) {
    const TimedBeside timed = time_beside(k.spec, declared, schedule, usual, shapes,
                                          k.workload.settings, k.workload.threads, options);
    for (size_t i = first; i < rows.size(); ++i) {
      ComparedShape& row = rows[i];
      if (row.different != schedule_difference(schedule, usual)) continue;
      row.cannot = timed.cannot;
      for (const EntryShape& s : timed.shapes) {
        if (s.shape != row.shape) continue;
        row.default_s = s.default_s, row.tuned_s = s.tuned_s, row.ratio = s.ratio;
      }
    }
  }
}

// "6 shapes: geometric mean 1.021, least 0.998"
std::string summary(const std::vector<ComparedShape>& rows, const std::string& workload) {
  double logarithms = 0, least = HUGE_VAL;
  size_t count = 0;
  for (const ComparedShape& r : rows) {
    if (!r.cannot.empty() || (!workload.empty() && r.workload != workload)) continue;
    logarithms += std::log(r.ratio);
    least = std::min(least, r.ratio);
    ++count;
  }
  if (count == 0) return "";
  return fmt::format("{}{} shapes: geometric mean {:.3f}, least {:.3f}\n",
                     workload.empty() ? "" : workload + ", ", count,
                     std::exp(logarithms / static_cast<double>(count)), least);
}

}  // namespace

std::vector<ComparedShape> compare_tuned(const std::vector<std::filesystem::path>& files,
                                         const std::vector<Variant>& declared,
                                         const TrialOptions& options,
                                         std::vector<std::string>& problems,
                                         const std::function<void(const std::string&)>& begun) {
  const TunedSchedules tuned(files);
  problems = tuned.problems();
  std::vector<ComparedShape> rows;
  for (const Kernel& k : kernels_of(files, declared)) {
    begun(kernel_name(k.spec));
    compare(k, tuned.find(k.spec, *k.variant, problems), declared, options, rows);
  }
  return rows;
}

std::string compared_markdown(const std::vector<ComparedShape>& rows) {
  std::string out =
      "| kernel | class | shape | default, ms | tuned, ms | factor | what differs |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const ComparedShape& r : rows) {
    const std::string kernel = r.settings.empty() ? r.kernel : r.kernel + " " + r.settings;
    out += fmt::format("| {} | {} | {} |", kernel, r.workload, r.shape);
    if (!r.cannot.empty()) {
      out += fmt::format(" – | – | – | {} |\n", r.cannot);
    } else if (r.tuned_s == 0) {
      out += fmt::format(" – | – | 1 | {} |\n", r.different);
    } else {
      out += fmt::format(" {:.4g} | {:.4g} | {:.3f} | {} |\n", r.default_s * 1e3, r.tuned_s * 1e3,
                         r.ratio, r.different);
    }
  }
  const std::string all = summary(rows, "");
  if (!all.empty()) out += "\n" + all + summary(rows, "short") + summary(rows, "long");
  return out;
}

}  // namespace fovea
