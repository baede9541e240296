// kernel_trials.h: trials of real kernels on problems with references.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_KERNEL_TRIALS_H
#define FOVEA_GENERATORS_TUNER_KERNEL_TRIALS_H

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/kernel_build.h"
#include "bench/shared_memory.h"
#include "generators/tuner/trial_process.h"
#include "generators/tuner/trial_runner.h"

namespace fovea {

struct TrialOptions {
  bench::BuildOptions build;  // its cache is a folder of the search's own
  bench::KernelChoice choice;
  TrialLimits limits;
  double sample_s = 0.01;  // a sample repeats the call until it lasts so long
};

class KernelTrials : public TrialRunner {
 public:
  KernelTrials(KernelSpec spec, const std::vector<Variant>& declared,
               const std::vector<ExampleShape>& shapes, const bench::Settings& settings,
               TrialOptions options);

  void build(const std::vector<std::string>& schedules) override;
  TrialOutcome time(const std::string& schedule, const std::string& incumbent,
                    Effort effort) override;
  void forget(const std::string& schedule) override;

 private:
  struct Calls {
    int calls = 1;
    double seconds = 0;  // of a sample
  };

  const bench::BuiltKernel& built_(const std::string& schedule);
  std::unique_ptr<TrialProcess> start_(const bench::BuiltKernel& kernel);
  TrialProcess& incumbent_process_(const std::string& schedule);
  Calls verify_(TrialProcess& process, size_t problem, double expected_s, TrialOutcome& outcome);
  double compare_(TrialProcess& own, TrialProcess& incumbent, size_t problem, const Calls& calls,
                  Effort effort, ShapeTiming& timing);

  KernelSpec spec_;
  const std::vector<Variant>& declared_;
  TrialOptions options_;
  std::vector<std::unique_ptr<bench::SharedMemory>> memory_;
  std::vector<std::unique_ptr<bench::Problem>> problems_;
  std::map<std::string, bench::BuiltKernel> kernels_;
  std::string incumbent_;
  std::unique_ptr<TrialProcess> incumbent_process_of_;
  std::vector<double> incumbent_s_;  // of a call of each problem
};

}  // namespace fovea

#endif
