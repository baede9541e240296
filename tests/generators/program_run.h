// program_run.h: running the fovea command and looking at what it did.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_GENERATORS_PROGRAM_RUN_H
#define FOVEA_TESTS_GENERATORS_PROGRAM_RUN_H

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "generators/emit/child_process.h"
#include "generators/emit/files.h"
#include "scratch_folder.h"

namespace fovea {

struct ProgramRun {
  std::string how;     // "exit status 0"
  std::string output;  // both streams
};

// FOVEA_TEST_PROGRAM is the path of the command, set by the build.
inline ProgramRun run_command(std::vector<std::string> command) {
  const ScratchFolder folder;
  const std::filesystem::path log = folder.path() / "output";
  ProgramRun run;
  run_children({{command[0], command, log}}, 1,
               [&](size_t, const ChildResult& result) { run.how = result.how; });
  run.output = read_file(log);
  return run;
}

inline ProgramRun run_fovea(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {FOVEA_TEST_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(std::move(command));
}

// Every file below a folder with the time it was written.
using FileTimes = std::map<std::string, std::filesystem::file_time_type>;
inline FileTimes file_times(const std::filesystem::path& folder) {
  FileTimes times;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      times[std::filesystem::relative(entry.path(), folder).string()] = entry.last_write_time();
  }
  return times;
}

}  // namespace fovea

#endif
