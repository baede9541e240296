// tuned_schedules.cpp: from a kernel to the record that says the most about it.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/tuned_schedules.h"

#include <fmt/format.h>

#include "generators/emit/library_spec.h"

namespace fovea {
namespace {

// A kernel serves calls of every shape: what was tuned for short or for long ones alone comes after
// what was tuned for both.
bool comes_before(const TuningRecord& a, const TuningRecord& b) {
  const auto is_narrow = [](const TuningRecord& r) {
    return r.workload.name == "short" || r.workload.name == "long";
  };
  return is_narrow(a) != is_narrow(b) ? is_narrow(b) : a.speedup > b.speedup;
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
  compare("cpu", then.cpu, now.cpu);
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

std::optional<TunedChoice> TunedSchedules::find(const KernelSpec& spec, const Variant& variant,
                                                std::vector<std::string>& refused) const {
  const std::string name = kernel_name(spec);
  for (const TuningFile& file : files_) {
    const StoredRecord* best = nullptr;
    for (const StoredRecord& stored : file.records) {
      const TuningRecord& r = stored.record;
      if (r.kernel != name || r.effort != Effort::Final || r.status != TrialStatus::Ok) continue;
      if (const std::string why = hard_mismatch(r, spec, variant); !why.empty()) {
        refused.push_back(fmt::format("{}: not used: {}", stored.place(), why));
      } else if (!best || !comes_before(best->record, r)) {
        best = &stored;  // of equal ones the last: it is the newest
      }
    }
    if (best) {
      return TunedChoice{best->record.schedule,
                         fmt::format("{}, {}, {:.3f} x the default", best->place(),
                                     best->record.environment.cpu, best->record.speedup)};
    }
  }
  return {};
}

}  // namespace fovea
