// trial_runner.h: making kernels of schedules, and timing them.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_TRIAL_RUNNER_H
#define FOVEA_GENERATORS_TUNER_TRIAL_RUNNER_H

#include <string>
#include <vector>

#include "generators/database/tuning_record.h"

namespace fovea {

struct TrialOutcome {
  TrialStatus status = TrialStatus::Ok;
  std::string reason;
  double max_abs_error = 0, error_bound = 0;  // of the shape that comes nearest to its bound
  std::vector<ShapeTiming> timings;
  // Incumbent's time over this one's: geometric mean over the shapes, and of the shape where it is
  // least.
  double ratio = 0, least_ratio = 0;
};

class TrialRunner {
 public:
  virtual ~TrialRunner() = default;
  // Compiles what is not there yet, some at a time; what fails is reported by time(), which
  // compiles what this was not asked for. Schedules are texts with all parameters.
  virtual void build(const std::vector<std::string>& schedules) = 0;
  // Verified first; then timed in turn with the incumbent, until the result is certain enough for
  // the effort. Never throws for what the schedule does.
  virtual TrialOutcome time(const std::string& schedule, const std::string& incumbent,
                            Effort effort) = 0;
  // Its files are not needed again.
  virtual void forget(const std::string& schedule) = 0;
};

}  // namespace fovea

#endif
