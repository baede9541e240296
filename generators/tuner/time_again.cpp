// time_again.cpp: an entry's kernel beside that of the default.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tuner/time_again.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>

#include "bench/samples.h"
#include "generators/database/tuned_schedules.h"
#include "generators/describe/call_shape.h"
#include "generators/tuner/schedule_space.h"

namespace fovea {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::string schedule_difference(const std::string& schedule, const std::string& usual) {
  const std::vector<std::string> known = words_of(usual);
  std::vector<std::string> different;
  for (const std::string& word : words_of(schedule)) {
    if (std::find(known.begin(), known.end(), word) == known.end()) different.push_back(word);
  }
  return different.empty() ? "the default" : fmt::format("{}", fmt::join(different, " "));
}

TimedBeside time_beside(const KernelSpec& spec, const std::vector<Variant>& declared,
                        const std::string& schedule, const std::string& usual,
                        const std::vector<ExampleShape>& shapes, const std::string& settings,
                        int threads, TrialOptions options) {
  options.choice = {spec.target, spec.pass, threads, {spec.cache, 0}};
  KernelTrials trials(spec, declared, shapes, bench::parse_settings(words_of(settings)), options);
  trials.build({usual, schedule});
  const TrialOutcome outcome = trials.time(schedule, usual, Effort::Final);
  TimedBeside timed;
  if (outcome.status != TrialStatus::Ok) {
    timed.cannot = fmt::format("{}: {}", status_name(outcome.status), outcome.reason);
    return timed;
  }
  timed.speedup = outcome.ratio;
  for (const ShapeTiming& t : outcome.timings) {
    bench::Samples ratios;
    for (size_t i = 0; i < t.seconds.size(); ++i)
      ratios.values.push_back(t.incumbent_seconds[i] / t.seconds[i]);
    timed.shapes.push_back({t.shape, bench::Samples{t.incumbent_seconds}.median(),
                            bench::Samples{t.seconds}.median(), ratios.median()});
  }
  return timed;
}

EntryAgain time_again(const TuningRecord& entry, const std::vector<Variant>& declared,
                      TrialOptions options) {
  EntryAgain again;
  again.entry = entry;
  const std::optional<KernelSpec> spec = parse_kernel_name(entry.kernel);
  const auto variant = std::find_if(declared.begin(), declared.end(), [&](const Variant& v) {
    return spec && v.name() == spec->variant;
  });
  if (variant == declared.end()) {
    again.cannot = "its variant is not declared here";
    return again;
  }
  again.cannot = hard_mismatch(entry, *spec, *variant);
  if (!again.cannot.empty()) return again;
  const ScheduleSpace space = schedule_space(*spec, *variant);
  again.usual = text_of(space.schedule(space.usual()));
  again.speedup = 1;
  if (again.usual == entry.schedule) return again;

  std::vector<ExampleShape> shapes;
  for (const std::string& text : entry.workload.shapes)
    shapes.push_back(parse_call_shape(text, ExampleShape()));
  const TimedBeside timed =
      time_beside(*spec, declared, entry.schedule, again.usual, shapes, entry.workload.settings,
                  entry.workload.threads, std::move(options));
  again.cannot = timed.cannot;
  again.speedup = timed.speedup;
  again.shapes = timed.shapes;
  return again;
}

std::string again_markdown(const std::vector<EntryAgain>& all) {
  std::string out =
      "| kernel | shape | default, ms | tuned, ms | factor | what differs |\n"
      "|---|---|---|---|---|---|\n";
  double logarithms = 0, least = HUGE_VAL;
  size_t count = 0;
  for (const EntryAgain& e : all) {
    std::string kernel = e.entry.kernel;
    if (!e.entry.workload.settings.empty()) kernel += " " + e.entry.workload.settings;
    if (!e.cannot.empty()) {
      out += fmt::format("| {} | – | – | – | – | {} |\n", kernel, e.cannot);
      continue;
    }
    const std::string differs = schedule_difference(e.entry.schedule, e.usual);
    if (e.shapes.empty()) {
      for (const std::string& shape : e.entry.workload.shapes) {
        out += fmt::format("| {} | {} | – | – | 1 | {} |\n", kernel, shape, differs);
        least = std::min(least, 1.0);
        ++count;
      }
    }
    for (const EntryShape& s : e.shapes) {
      out += fmt::format("| {} | {} | {:.4g} | {:.4g} | {:.3f} | {} |\n", kernel, s.shape,
                         s.default_s * 1e3, s.tuned_s * 1e3, s.ratio, differs);
      logarithms += std::log(s.ratio);
      least = std::min(least, s.ratio);
      ++count;
    }
  }
  if (count > 0) {
    out += fmt::format("\n{} shapes: geometric mean {:.3f}, least {:.3f}\n", count,
                       std::exp(logarithms / static_cast<double>(count)), least);
  }
  return out;
}

}  // namespace fovea
