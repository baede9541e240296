// output_of.h: what the fovea command writes to stdout, apart from stderr.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_TOOL_OUTPUT_OF_H
#define FOVEA_TESTS_TOOL_OUTPUT_OF_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "program_run.h"

namespace fovea {

inline ProgramRun run_without(const std::string& redirection, std::vector<std::string> arguments) {
  std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$0\" \"$@\" " + redirection,
                                      FOVEA_TEST_PROGRAM};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(std::move(command));
}

inline std::string stdout_of(const std::vector<std::string>& arguments) {
  const ProgramRun run = run_without("2>/dev/null", arguments);
  EXPECT_EQ(run.how, "exit status 0") << run.output;
  return run.output;
}

}  // namespace fovea

#endif
