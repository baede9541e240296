// completion_command.cpp: `completion`: words of this program, for a shell.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

#include "generators/emit/kernel_spec.h"
#include "generators/targets/target_table.h"
#include "generators/tool/commands.h"
#include "generators/tool/completion.h"

namespace fovea {
namespace {

CompletionWords completion_words() {
  CompletionWords words;
  for (const Variant& v : declared_variants()) words["--variant"].push_back(v.name());
  for (const TargetRow& row : target_table()) words["--target"].emplace_back(row.name);
  for (const char* dtype : dtype_names()) words["--dtype"].emplace_back(dtype);
  words["--pass"] = {"prefill", "decode"};
  words["--head-dim"] = {"64", "128"};
  words["--peers"] = {"all", "none", "plain", "flex", "ggml", "onnxruntime", "sdpa"};
  words["--shape"] = {"b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64"};
  return words;
}

}  // namespace

void add_completion_command(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app.add_subcommand("completion", "a script that completes words of this command in a shell");
  completion->footer("example: source <(fovea completion bash)");
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, shell] {
    const CompletionWords words = completion_words();
    const auto script = *shell == "bash"  ? bash_completion
                        : *shell == "zsh" ? zsh_completion
                                          : fish_completion;
    fmt::print("{}", script(app, words));
  });
}

}  // namespace fovea
