// command_line.h: what all commands have in common: exit codes, and what is said of words that no
// command knows. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TOOL_COMMAND_LINE_H
#define FOVEA_GENERATORS_TOOL_COMMAND_LINE_H

namespace CLI {
class App;
}

namespace fovea {

// Facts go to stdout, progress and complaints to stderr. docs/tour.md states these.
enum ExitCode { exit_ok = 0, exit_failed_work = 1, exit_wrong_use = 2 };

// Parses the words, which runs the command they name, and returns the exit code of the program.
int run_command_line(CLI::App& app, int argc, const char* const* argv);

}  // namespace fovea

#endif
