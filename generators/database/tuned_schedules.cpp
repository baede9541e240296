// tuned_schedules.cpp: from a kernel to the record that says the most about it.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/tuned_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generators/describe/call_shape.h"
#include "generators/emit/library_spec.h"

namespace fovea {
namespace {

bool is_for_short(const TuningRecord& r) { return r.workload.name == "short"; }

// What serves calls of every shape: what was tuned for long ones alone comes after what was tuned
// for both.
bool comes_before(const TuningRecord& a, const TuningRecord& b) {
  const bool a_narrow = a.workload.name == "long", b_narrow = b.workload.name == "long";
  return a_narrow != b_narrow ? b_narrow : a.speedup > b.speedup;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// Over the default, in calls of a shape; where it was not timed with them, in all of its own.
double speedup_at(const TuningRecord& r, const std::string& shape) {
  for (const ShapeTiming& t : r.timings) {
    const double own = median(t.seconds), usual = median(t.incumbent_seconds);
    if (t.shape == shape && r.schedule != r.incumbent && own > 0 && usual > 0) return usual / own;
  }
  return r.speedup > 0 ? r.speedup : 1;
}

// Of a schedule for short calls over what serves calls of every shape, nullptr: the default.
double gain_over(const TuningRecord& narrow, const TuningRecord* general) {
  if (!general || narrow.workload.shapes.empty()) return narrow.speedup;
  double logarithms = 0;
  for (const std::string& shape : narrow.workload.shapes)
    logarithms += std::log(speedup_at(*general, shape));
  return narrow.speedup / std::exp(logarithms / static_cast<double>(narrow.workload.shapes.size()));
}

TunedChoice choice_of(const StoredRecord& stored) {
  const TuningRecord& r = stored.record;
  TunedChoice choice;
  choice.schedule = r.schedule;
  choice.from = fmt::format("{}, {}, {:.3f} x the default", stored.place(),
                            r.judged_by.empty() ? r.environment.cpu : r.judged_by, r.speedup);
  return choice;
}

// Up to the longest of the calls it was timed with. The few rows of decode do not decide.
TunedChoice short_choice_of(const StoredRecord& stored, const std::string& pass) {
  TunedChoice choice = choice_of(stored);
  for (const std::string& text : stored.record.workload.shapes) {
    const ExampleShape shape = parse_call_shape(text, ExampleShape());
    choice.most_keys = std::max(choice.most_keys, static_cast<int>(shape.kv_len));
    if (pass != "decode")
      choice.most_rows = std::max(choice.most_rows, static_cast<int>(shape.q_len));
  }
  return choice;
}

}  // namespace

std::string hard_mismatch(const TuningRecord& record, const KernelSpec& spec,
                          const Variant& variant) {
  if (record.variant_hash != hash_text(variant.hash())) {
    return fmt::format("it is of another declaration of {} (hash {}, now {})", variant.name(),
                       record.variant_hash, hash_text(variant.hash()));
  }
  const TargetRow* target = find_target(spec.target);
  if (target && record.target != target->halide)
    return fmt::format("it is of another target {} ({}, now {})", spec.target, record.target,
                       target->halide);
  return "";
}

std::string soft_mismatch(const TuningRecord& record, const TuningEnvironment& now) {
  const TuningEnvironment& then = record.environment;
  std::string text;
  const auto compare = [&](const char* name, const std::string& a, const std::string& b) {
    if (a != b) text += fmt::format("{}{} {}, here {}", text.empty() ? "" : "; ", name, a, b);
  };
  if (record.judged_by.empty()) compare("cpu", then.cpu, now.cpu);
  if (then.cpu == now.cpu) compare("cpu model", then.cpu_model, now.cpu_model);
  compare("Halide", then.halide, now.halide);
  compare("fovea", then.fovea, now.fovea);
  return text;
}

TunedSchedules::TunedSchedules(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    files_.push_back(read_tuning_file(file));
    const std::vector<std::string>& more = files_.back().problems;
    problems_.insert(problems_.end(), more.begin(), more.end());
  }
}

std::vector<TunedChoice> TunedSchedules::find(const KernelSpec& spec, const Variant& variant,
                                              std::vector<std::string>& refused) const {
  const std::string name = kernel_name(without_limits(spec));
  const StoredRecord *general = nullptr, *narrow = nullptr;
  for (const TuningFile& file : files_) {
    const StoredRecord* narrow_here = nullptr;
    for (const StoredRecord& stored : file.records) {
      const TuningRecord& r = stored.record;
      if (r.kernel != name || r.effort != Effort::Final || r.status != TrialStatus::Ok) continue;
      if (const std::string why = hard_mismatch(r, spec, variant); !why.empty()) {
        refused.push_back(fmt::format("{}: not used: {}", stored.place(), why));
        continue;
      }
      // Of equal ones the last: it is the newest.
      if (is_for_short(r)) {
        if (!narrow_here || narrow_here->record.speedup <= r.speedup) narrow_here = &stored;
      } else if (!general || !comes_before(general->record, r)) {
        general = &stored;
      }
    }
    if (!narrow) narrow = narrow_here;
    // What a later file holds was found beside another schedule than this one.
    if (general) break;
  }
  std::vector<TunedChoice> choices;
  if (narrow) {
    const double gain = gain_over(narrow->record, general ? &general->record : nullptr);
    if (gain >= least_gain_of_a_second_schedule) {
      choices.push_back(short_choice_of(*narrow, spec.pass));
    } else if (narrow->record.schedule != narrow->record.incumbent) {
      refused.push_back(
          fmt::format("{}: not used: in short calls {:.3f} x what serves all calls, "
                      "of a second schedule {:.2f} x is asked",
                      narrow->place(), gain, least_gain_of_a_second_schedule));
    }
  }
  if (general) choices.push_back(choice_of(*general));
  return choices;
}

}  // namespace fovea
