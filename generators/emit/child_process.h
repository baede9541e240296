// child_process.h: running programs beside this one.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_CHILD_PROCESS_H
#define FOVEA_GENERATORS_EMIT_CHILD_PROCESS_H

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fovea {

// Zeros set no limit. A program with a limit of time is killed with all that it has started.
struct ChildLimits {
  double seconds = 0;
  size_t bytes = 0;  // of address space, of each of its processes
};

struct ChildJob {
  std::string name;                  // for messages
  std::vector<std::string> command;  // program (found on PATH) and arguments
  std::filesystem::path log;         // receives what it prints
  ChildLimits limits = {};
};

struct ChildResult {
  bool ok = false;
  std::string how;  // "exit status 1", "signal 6 (Aborted)", "no end after 60 s"
  bool timed_out = false;
};

// Runs the jobs, at most `at_once` at a time, and calls finished(job index, result) for each as it
// ends. After a failure no further job is started; returns true when all of them succeeded. Throws
// std::runtime_error when a program cannot be started, after the jobs already running have ended.
bool run_children(const std::vector<ChildJob>& jobs, int at_once,
                  const std::function<void(size_t, const ChildResult&)>& finished);

// One program; throws std::runtime_error with its output when it fails.
void run_program(const std::vector<std::string>& command, const std::filesystem::path& log);

}  // namespace fovea

#endif
