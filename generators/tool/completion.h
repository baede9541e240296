// completion.h: scripts that complete the words of a command line in a shell.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TOOL_COMPLETION_H
#define FOVEA_GENERATORS_TOOL_COMPLETION_H

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fovea {

// What may follow an option, whichever command has it: the words are the same everywhere.
using CompletionWords =
    std::map<std::string, std::vector<std::string>>;  // "--pass" -> "prefill", …

// One script each, of all commands and options of the app; values without words are files.
std::string bash_completion(const CLI::App& app, const CompletionWords& words);
std::string zsh_completion(const CLI::App& app, const CompletionWords& words);
std::string fish_completion(const CLI::App& app, const CompletionWords& words);

}  // namespace fovea

#endif
