// main.cpp: the command line of a generator program: `fovea`, and the one that fovea_add_library
// builds from an author's variants. Subcommands live in files of their own.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/fovea.h>
#include <CLI/CLI.hpp>

#include "generators/tool/command_line.h"
#include "generators/tool/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"fovea: attention variants, declared once, compiled ahead of time"};
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("fovea {}.{}.{}", FOVEA_VERSION_MAJOR,
                                                FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH));
  app.footer(
      "example: fovea show causal_window --set window=8\nexit codes: 0 all is well, 1 work "
      "failed, 2 the command line is wrong");
  fovea::add_list_command(app);
  fovea::add_show_command(app);
  fovea::add_catalogue_command(app);
  fovea::add_emit_commands(app);
  fovea::add_explain_command(app);
  fovea::add_inspect_command(app);
  fovea::add_bench_command(app);
  fovea::add_tune_command(app);
  fovea::add_database_command(app);
  fovea::add_report_command(app);
  fovea::add_doctor_command(app);
  fovea::add_new_command(app);
  fovea::add_completion_command(app);  // last: it knows the commands before it
  return fovea::run_command_line(app, argc, argv);
}
