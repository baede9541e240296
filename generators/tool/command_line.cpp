// command_line.cpp: errors of the command line, with the nearest word that is allowed.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tool/command_line.h"

#include <Halide.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "generators/describe/layout.h"

namespace fovea {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The command that was named last, of those within each other; nullptr: none was.
const CLI::App* chosen_command(const CLI::App& app) {
  const CLI::App* command = nullptr;
  for (std::vector<CLI::App*> within = app.get_subcommands(); !within.empty();
       within = command->get_subcommands())
    command = within.back();
  return command;
}

// What stands in the way, if it is a word that nobody knows; else empty.
std::string unknown_word(const CLI::App& app) {
  const CLI::App* command = chosen_command(app);
  if (command == nullptr) {
    const std::vector<std::string> words = app.remaining();
    if (words.empty()) return "";
    const bool is_option = words[0].starts_with("-");
    return fmt::format("'{}' is no {}{}", words[0], is_option ? "option" : "command",
                       suggestion(words[0], is_option ? option_names(app) : command_names(app)));
  }
  for (const std::string& word : command->remaining()) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("-")) continue;
    return fmt::format("'{}' is no option of {}{}", name, command->get_name(),
                       suggestion(name, option_names(*command)));
  }
  return "";
}

int wrong_use(const CLI::App& app, const CLI::ParseError& error) {
  const std::string unknown = unknown_word(app);
  std::string help = app.get_name();
  const CLI::App* last = chosen_command(app);
  for (const CLI::App* command = &app; last != nullptr && command != last;) {
    command = command->get_subcommands().back();
    help += " " + command->get_name();
  }
  fmt::print(stderr, "{}: {}\n{} --help says what is allowed\n", help,
             unknown.empty() ? error.what() : unknown, help);
  return exit_wrong_use;
}

}  // namespace

int run_command_line(CLI::App& app, int argc, const char* const* argv) {
  if (argc > 0) app.name(std::filesystem::path(argv[0]).filename().string());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are errors to CLI11, of code 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    return wrong_use(app, error);
  } catch (const std::invalid_argument& error) {
    // A name or a number that is not allowed: the message says what is.
    fmt::print(stderr, "fovea: {}\n", error.what());
    return exit_wrong_use;
  } catch (const std::exception& error) {
    // A broken declaration, a tool or a kernel that failed: the message says which and how to go
    // on.
    fmt::print(stderr, "fovea: {}\n", error.what());
    return exit_failed_work;
  } catch (const Halide::Error& error) {
    // No std::exception. It names the place in Halide's source; kernels say which one was compiled.
    fmt::print(stderr, "fovea: Halide: {}\n", error.what());
    return exit_failed_work;
  }
  return exit_ok;
}

}  // namespace fovea
