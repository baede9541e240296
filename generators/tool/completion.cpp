// completion.cpp: the scripts, from what the app itself says of its commands and options.
// SPDX-License-Identifier: Apache-2.0
#include "generators/tool/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

namespace fovea {
namespace {

struct OptionWords {
  std::vector<std::string> names;  // "--shape"
  std::string description;
  bool takes_value = false;
};

struct CommandWords {
  std::string name, description;
  std::vector<OptionWords> options;
  std::vector<CommandWords> nested;  // fovea database list
};

std::vector<OptionWords> options_of(const CLI::App& app) {
  std::vector<OptionWords> all;
  for (const CLI::Option* option : app.get_options()) {
    OptionWords words;
    for (const std::string& name : option->get_lnames()) words.names.push_back("--" + name);
    words.description = option->get_description();
    words.takes_value = option->get_items_expected_max() > 0;
    if (!words.names.empty()) all.push_back(std::move(words));
  }
  return all;
}

// Commands without a group are not for people.
std::vector<CommandWords> commands_of(const CLI::App& app) {
  std::vector<CommandWords> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty())
      all.push_back({command->get_name(), command->get_description(), options_of(*command),
                     commands_of(*command)});
  }
  return all;
}

// A name that a shell function may have.
std::string function_name(const std::string& program) {
  std::string name = "_" + program;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

// Within single quotes of a shell; the text itself has none left.
std::string plain(std::string text) {
  std::erase_if(text, [](char c) { return c == '\'' || c == '[' || c == ']' || c == '\\'; });
  std::replace(text.begin(), text.end(), ':', ' ');
  return text;
}

std::string names_of(const std::vector<OptionWords>& options) {
  std::string all;
  for (const OptionWords& o : options) all += fmt::format("{} ", fmt::join(o.names, " "));
  if (!all.empty()) all.pop_back();
  return all;
}

std::string names_of(const std::vector<CommandWords>& commands) {
  std::string all;
  for (const CommandWords& c : commands) all += (all.empty() ? "" : " ") + c.name;
  return all;
}

const std::vector<std::string>* words_of(const CompletionWords& words, const OptionWords& option) {
  for (const std::string& name : option.names) {
    if (const auto it = words.find(name); it != words.end()) return &it->second;
  }
  return nullptr;
}

}  // namespace

std::string bash_completion(const CLI::App& app, const CompletionWords& words) {
  const std::vector<CommandWords> commands = commands_of(app);
  const std::string function = function_name(app.get_name());
  std::string out = fmt::format(
      "# bash completion of {0}: source <({0} completion bash)\n{1}() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local options='{2}'\n  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W '{3}'\" $options\" -- \"$current\"))\n    return\n  fi\n"
      "  case $previous in\n",
      app.get_name(), function, names_of(options_of(app)), names_of(commands));
  for (const auto& [option, values] : words) {
    out += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$current\")); return ;;\n",
                       option, fmt::join(values, " "));
  }
  out += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandWords& c : commands)
    out += fmt::format("    {}) options='{}' ;;\n", c.name, names_of(c.options));
  out += "  esac\n  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n";
  for (const CommandWords& c : commands) {
    for (const CommandWords& n : c.nested)
      out += fmt::format("    '{} {}') options='{}' ;;\n", c.name, n.name, names_of(n.options));
  }
  out += "  esac\n  case \"$COMP_CWORD ${COMP_WORDS[1]}\" in\n";
  for (const CommandWords& c : commands) {
    if (c.nested.empty()) continue;
    out += fmt::format(
        "    '2 {}') COMPREPLY=($(compgen -W '{}'\" $options\" -- \"$current\")); return ;;\n",
        c.name, names_of(c.nested));
  }
  // What is neither an option nor a value from a list is a file, or the name that a command takes.
  out += fmt::format(
      "  esac\n  if [[ $current == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
      "  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"${{COMP_WORDS[1]}}\" = show ]; then\n"
      "    COMPREPLY=($(compgen -W '{2}' -- \"$current\"))\n"
      "  elif [ \"${{COMP_WORDS[1]}}\" = completion ]; then\n"
      "    COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$current\"))\n"
      "  else\n    COMPREPLY=($(compgen -f -- \"$current\"))\n  fi\n}}\n"
      "complete -o filenames -F {0} {1}\n",
      function, app.get_name(),
      words.count("--variant") ? fmt::format("{}", fmt::join(words.at("--variant"), " ")) : "");
  return out;
}

namespace {

std::string zsh_arguments(const CommandWords& c, const CompletionWords& words) {
  std::string out = " _arguments";
  for (const OptionWords& o : c.options) {
    for (const std::string& name : o.names) {
      out += fmt::format(" \\\n        '*{}[{}]", name, plain(o.description));
      const std::vector<std::string>* values = words_of(words, o);
      if (values != nullptr) {
        out += fmt::format(":value:({})", fmt::join(*values, " "));
      } else if (o.takes_value) {
        out += ":value:_files";
      }
      out += "'";
    }
  }
  return out + " \\\n        '*:file:_files'";
}

// Options of a command, offered after the words that `seen` asks for.
std::string fish_options(const std::string& program, const std::string& seen, const CommandWords& c,
                         const CompletionWords& words) {
  std::string out;
  for (const OptionWords& o : c.options) {
    for (const std::string& name : o.names) {
      out += fmt::format("complete -c {} -n '{}' -l {} -d '{}'", program, seen, name.substr(2),
                         plain(o.description));
      const std::vector<std::string>* values = words_of(words, o);
      if (values != nullptr) {
        out += fmt::format(" -x -a '{}'", fmt::join(*values, " "));
      } else if (o.takes_value) {
        out += " -r";
      }
      out += "\n";
    }
  }
  return out;
}

}  // namespace

std::string zsh_completion(const CLI::App& app, const CompletionWords& words) {
  const std::vector<CommandWords> commands = commands_of(app);
  const std::string function = function_name(app.get_name());
  std::string out = fmt::format(
      "#compdef {0}\n# zsh completion of {0}: source <({0} completion zsh)\n{1}() {{\n"
      "  if (( CURRENT == 2 )); then\n    local -a commands=(\n",
      app.get_name(), function);
  for (const CommandWords& c : commands)
    out += fmt::format("      '{}:{}'\n", c.name, plain(c.description));
  out += "    )\n    _describe command commands\n    return\n  fi\n  case ${words[2]} in\n";
  for (const CommandWords& c : commands) {
    if (c.nested.empty()) {
      out += fmt::format("    {})", c.name) + zsh_arguments(c, words) + " ;;\n";
      continue;
    }
    out += fmt::format("    {})\n      if (( CURRENT == 3 )); then\n        local -a nested=(\n",
                       c.name);
    for (const CommandWords& n : c.nested)
      out += fmt::format("          '{}:{}'\n", n.name, plain(n.description));
    out +=
        "        )\n        _describe command nested\n        return\n      fi\n"
        "      case ${words[3]} in\n";
    for (const CommandWords& n : c.nested)
      out += fmt::format("        {})", n.name) + zsh_arguments(n, words) + " ;;\n";
    out += "      esac ;;\n";
  }
  return out + fmt::format("  esac\n}}\ncompdef {} {}\n", function, app.get_name());
}

std::string fish_completion(const CLI::App& app, const CompletionWords& words) {
  std::string out =
      fmt::format("# fish completion of {0}: {0} completion fish | source\n", app.get_name());
  for (const CommandWords& c : commands_of(app)) {
    out += fmt::format("complete -c {} -n __fish_use_subcommand -f -a {} -d '{}'\n", app.get_name(),
                       c.name, plain(c.description));
    const std::string seen = "__fish_seen_subcommand_from " + c.name;
    out += fish_options(app.get_name(), seen, c, words);
    for (const CommandWords& n : c.nested) {
      out += fmt::format(
          "complete -c {} -n '{}; and not __fish_seen_subcommand_from {}' -f -a {} -d '{}'\n",
          app.get_name(), seen, names_of(c.nested), n.name, plain(n.description));
      out += fish_options(app.get_name(), seen + "; and __fish_seen_subcommand_from " + n.name, n,
                          words);
    }
  }
  return out;
}

}  // namespace fovea
