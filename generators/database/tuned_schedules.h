// tuned_schedules.h: which schedule tuning files hold for a kernel.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DATABASE_TUNED_SCHEDULES_H
#define FOVEA_GENERATORS_DATABASE_TUNED_SCHEDULES_H

#include <fovea/dsl/variant.h>

#include <filesystem>
#include <string>
#include <vector>

#include "generators/database/tuning_file.h"
#include "generators/emit/kernel_spec.h"

namespace fovea {

struct TunedChoice {
  std::string schedule;  // all parameters
  std::string from;      // "x86-zen4.jsonl:12, amd-zen4, 1.083 x the default"
  // The longest sequences of the calls that it is for; 0: any.
  int most_rows = 0, most_keys = 0;
};

// How much faster than what serves all calls a schedule for short ones has to be, for a library to
// hold both.
inline constexpr double least_gain_of_a_second_schedule = 1.05;

// Why a record says nothing about a kernel as this program would make it, though it bears its
// name: a declaration or a target that has changed since. Empty: it does.
std::string hard_mismatch(const TuningRecord& record, const KernelSpec& spec,
                          const Variant& variant);
// What is otherwise not as it was; times may differ, results do not. Empty: nothing.
std::string soft_mismatch(const TuningRecord& record, const TuningEnvironment& now);

// Files in their order: what an earlier one holds for a kernel wins; within a file what was tuned
// for calls of every kind before what was tuned for long ones alone, and then what was the most
// over the default. What was tuned for short calls serves those beside it, up to the longest of the
// shapes it was timed with, where it is that much faster. Nothing of the machine this runs on
// decides.
class TunedSchedules {
 public:
  // Throws std::runtime_error: a file cannot be read. Lines that do not read are problems.
  explicit TunedSchedules(const std::vector<std::filesystem::path>& files);

  // One with limits, if there is one, and then one without, if there is one. Only entries timed
  // with Effort::Final count. `refused` receives a line for each that bears the kernel's name and
  // cannot be used.
  std::vector<TunedChoice> find(const KernelSpec& spec, const Variant& variant,
                                std::vector<std::string>& refused) const;

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<TuningFile> files_;
  std::vector<std::string> problems_;
};

}  // namespace fovea

#endif
