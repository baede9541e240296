// trial_process.h: a kernel that nobody knows yet, in a process of its own.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TUNER_TRIAL_PROCESS_H
#define FOVEA_GENERATORS_TUNER_TRIAL_PROCESS_H

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "bench/contender.h"
#include "bench/kernel_contender.h"
#include "generators/database/tuning_record.h"

namespace fovea {

struct TrialLimits {
  double call_s = 10;              // for one answer beyond what the incumbent would need
  size_t bytes = size_t{2} << 30;  // of address space beyond what this process has
};

// Why a kernel is no candidate.
class TrialFailure : public std::runtime_error {
 public:
  TrialFailure(TrialStatus status, const std::string& reason)
      : std::runtime_error(reason), status_(status) {}
  TrialStatus status() const { return status_; }

 private:
  TrialStatus status_;
};

// A copy of this process that loads a kernel's library and calls it on the problems, which must
// outlive it. It ends with this process, however that ends.
class TrialProcess {
 public:
  TrialProcess(const std::filesystem::path& library, const bench::KernelChoice& choice,
               const std::vector<const bench::Problem*>& problems, const TrialLimits& limits);
  ~TrialProcess();
  TrialProcess(const TrialProcess&) = delete;
  TrialProcess& operator=(const TrialProcess&) = delete;

  // Seconds of the calls together: on one thread of its CPU's time, else of a clock's. Throws
  // TrialFailure (crash, timeout, memory, or what the library says), after which the process is
  // gone.
  double run(size_t problem, const bench::TimedCalls& calls, double expected_s = 0);
  // Copies the result of the last call into the problem's output.
  void write_output(size_t problem);

 private:
  struct Request;
  struct Reply;
  [[noreturn]] void serve_(int socket, const std::filesystem::path& library,
                           const bench::KernelChoice& choice,
                           const std::vector<const bench::Problem*>& problems);
  Reply ask_(const Request& request, double seconds);
  std::string end_();

  TrialLimits limits_;
  pid_t pid_ = -1;
  int socket_ = -1;
};

}  // namespace fovea

#endif
