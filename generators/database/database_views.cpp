// database_views.cpp: records by key.
// SPDX-License-Identifier: Apache-2.0
#include "generators/database/database_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "bench/samples.h"

namespace fovea {

std::string record_key(const TuningRecord& r) {
  return fmt::format("{} | {} | {} | {} | {} | {} | {} threads | {}", r.kernel, r.variant_hash,
                     r.target, r.workload.name, fmt::join(r.workload.shapes, "; "),
                     r.workload.settings, r.workload.threads, r.environment.cpu);
}

std::vector<TuningRecord> winners(const std::vector<TuningRecord>& records) {
  std::map<std::string, const TuningRecord*> best;
  for (const TuningRecord& r : records) {
    if (r.effort != Effort::Final || r.status != TrialStatus::Ok) continue;
    const TuningRecord*& known = best[record_key(r)];
    if (!known || r.speedup >= known->speedup) known = &r;
  }
  std::vector<TuningRecord> out;
  for (const auto& [key, record] : best) out.push_back(*record);
  return out;
}

std::vector<TuningRecord> pruned(const std::vector<TuningRecord>& records) {
  std::vector<TuningRecord> out = winners(records);
  std::map<std::string, bool> decided;
  for (const TuningRecord& r : out) decided[record_key(r)] = true;
  for (const TuningRecord& r : records) {
    if (!decided.count(record_key(r))) out.push_back(r);
  }
  return out;
}

std::vector<TuningRecord> exported(const std::vector<TuningRecord>& records) {
  std::vector<TuningRecord> out = winners(records);
  for (TuningRecord& r : out) {
    for (ShapeTiming& t : r.timings) {
      t.seconds = {bench::Samples{t.seconds}.median()};
      t.incumbent_seconds = {bench::Samples{t.incumbent_seconds}.median()};
    }
  }
  return out;
}

std::vector<WinnerChange> changes(const std::vector<TuningRecord>& before,
                                  const std::vector<TuningRecord>& after) {
  std::map<std::string, WinnerChange> all;
  for (const TuningRecord& r : before) all[record_key(r)].before = &r;
  for (const TuningRecord& r : after) all[record_key(r)].after = &r;
  std::vector<WinnerChange> out;
  for (auto& [key, change] : all) {
    if (change.before && change.after && change.before->schedule == change.after->schedule)
      continue;
    change.key = key;
    out.push_back(change);
  }
  return out;
}

}  // namespace fovea
