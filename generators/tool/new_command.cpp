// new_command.cpp: `new`: a project to begin with.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <nlohmann/json.hpp>

#include "generators/project/new_project.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct NewArguments {
  std::string name, out;
  bool json = false;
};

void run_new(const NewArguments& a) {
  const std::filesystem::path folder = a.out.empty() ? a.name : a.out;
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const std::filesystem::path& file : write_new_project(a.name, folder))
    files.push_back(file.string());
  if (a.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"files", files}}.dump(2));
    return;
  }
  fmt::print(
      "{0}: variants.cpp declares {1}, test.cpp compares its kernels with the reference\n"
      "build it and run its test:\n"
      "  cmake -G Ninja -S {0} -B {0}/build -DCMAKE_PREFIX_PATH=<where fovea is installed>\n"
      "  cmake --build {0}/build && ctest --test-dir {0}/build\n"
      "measure it:\n"
      "  cmake --build {0}/build --target bench\n",
      folder.string(), a.name);
}

}  // namespace

void add_new_command(CLI::App& app) {
  auto a = std::make_shared<NewArguments>();
  CLI::App* command = app.add_subcommand(
      "new", "a CMake project with a variant, a test against the reference and a benchmark");
  command->footer("example: fovea new my_variant --out ~/my_variant");
  command->add_option("name", a->name, "of the variant and the project")->required();
  command->add_option("--out", a->out, "a folder that is not there or empty; default: the name");
  command->add_flag("--json", a->json, "print the names of the files as one JSON object");
  command->callback([a] { run_new(*a); });
}

}  // namespace fovea
