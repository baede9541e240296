// static_trials.h: trials of kernels that cannot run here, judged by a model of their inner loops.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_STATIC_TRIALS_H
#define FOVEA_GENERATORS_TUNER_STATIC_TRIALS_H

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "generators/emit/child_process.h"
#include "generators/emit/kernel_spec.h"
#include "generators/tuner/schedule_space.h"
#include "generators/tuner/trial_runner.h"

namespace fovea {

// CPUs that llvm-mca has models of, common ones of each architecture: "cortex-a76".
const std::vector<std::string>& modelled_cpus(const std::string& architecture);

// Parameters that decide the inner loops; the others stay as in the documented default, for what
// they are for, caches, masks and few rows, is not in the model.
ScheduleSpace inner_loop_space(const ScheduleSpace& space);

// Nothing is run and no result is compared. The cost of a schedule on a CPU is what llvm-mca says
// of its loops that multiply: cycles of a multiply-add, of all of them alike. A kernel in which
// more registers are spilled than with the incumbent is slower, whatever the loops cost.
class StaticTrials : public TrialRunner {
 public:
  struct Options {
    std::filesystem::path self, folder;  // this program; where objects are made
    std::vector<std::string> cpus;
    ChildLimits limits;
    int jobs = 1;
  };

  StaticTrials(KernelSpec spec, Options options);

  void build(const std::vector<std::string>& schedules) override;
  TrialOutcome time(const std::string& schedule, const std::string& incumbent,
                    Effort effort) override;
  void forget(const std::string&) override {}

 private:
  struct Cost {
    std::vector<double> cycles;  // of a multiply-add, on each CPU
    int64_t spills = 0;
    TrialStatus status = TrialStatus::Ok;
    std::string reason;
  };
  const Cost& cost_(const std::string& schedule);
  Cost cost_of_(const std::filesystem::path& object) const;

  KernelSpec spec_;
  Options options_;
  std::map<std::string, Cost> costs_;
};

}  // namespace fovea

#endif
