// main.cpp: the command line of a generator program: `fovea`, and the one that fovea_add_library
// builds from an author's variants. Subcommands live in files of their own.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/diagnostics.h>
#include <fovea/dsl/register.h>
#include <fovea/fovea.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

#include "generators/tool/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"fovea: attention variants, declared once, compiled ahead of time"};
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("fovea {}.{}.{}", FOVEA_VERSION_MAJOR,
                                                FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH));
  fovea::add_list_command(app);
  fovea::add_show_command(app);
  fovea::add_catalogue_command(app);
  fovea::add_bench_command(app);
  fovea::add_tune_command(app);
  fovea::add_database_command(app);
  fovea::add_emit_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    // A broken declaration, a bad argument or a failed kernel: the message says which and how to go
    // on.
    fmt::print(stderr, "fovea: {}\n", error.what());
    return 1;
  }
  return 0;
}
