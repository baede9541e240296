// commands.h: the subcommands of a generator program.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TOOL_COMMANDS_H
#define FOVEA_GENERATORS_TOOL_COMMANDS_H

namespace CLI {
class App;
}

namespace fovea {

void add_list_command(CLI::App& app);
void add_show_command(CLI::App& app);
void add_catalogue_command(CLI::App& app);
void add_emit_commands(CLI::App& app);  // emit, and emit-kernel, which it starts once per kernel
void add_explain_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_database_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_new_command(CLI::App& app);
void add_completion_command(CLI::App& app);

}  // namespace fovea

#endif
