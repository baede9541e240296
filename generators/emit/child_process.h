// child_process.h: running programs beside this one.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_CHILD_PROCESS_H
#define FOVEA_GENERATORS_EMIT_CHILD_PROCESS_H

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace fovea {

struct ChildJob {
  std::string name;                  // for messages
  std::vector<std::string> command;  // program (found on PATH) and arguments
  std::filesystem::path log;         // receives what it prints
};

struct ChildResult {
  bool ok = false;
  std::string how;  // "exit status 1", "signal 6 (Aborted)"
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
