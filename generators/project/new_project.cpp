// new_project.cpp: filling in the skeleton.
// SPDX-License-Identifier: Apache-2.0
#include "generators/project/new_project.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "generators/emit/files.h"
#include "generators/project/skeleton.h"

namespace fovea {
namespace {

// Lower case: it becomes part of the names of symbols, files and CMake targets.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > 40 || name.front() < 'a' || name.front() > 'z') return false;
  if (name.back() == '_' || name.find("__") != std::string::npos) return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

// CMake has these as targets, or the generated header as names of its own.
bool is_taken(const std::string& name) {
  for (const char* taken :
       {"all", "bench",  "clean",     "fovea",   "help",   "install", "library", "run",
        "std", "test",   "workspace", "explain", "append", "int",     "float",   "auto",
        "for", "if",     "else",      "while",   "do",     "return",  "class",   "struct",
        "new", "delete", "main",      "and",     "or",     "not"}) {
    if (name == taken) return true;
  }
  return false;
}

std::string filled(std::string text, const std::string& name) {
  static const std::string place = "{{name}}";
  for (size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += name.size())
    text.replace(at, place.size(), name);
  return text;
}

}  // namespace

std::vector<std::filesystem::path> write_new_project(const std::string& name,
                                                     const std::filesystem::path& folder) {
  if (!is_name(name) || is_taken(name)) {
    throw std::invalid_argument(
        fmt::format("name '{}': allowed are up to 40 of a to z, 0 to 9 and single _, a letter "
                    "first, and no word "
                    "of C++ or target of CMake",
                    name));
  }
  if (std::filesystem::exists(folder) && !std::filesystem::is_directory(folder))
    throw std::invalid_argument(
        fmt::format("'{}' is a file: nothing was written", folder.string()));
  if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder)) {
    throw std::invalid_argument(fmt::format(
        "'{}' is not empty: nothing was written; --out names another folder", folder.string()));
  }
  std::filesystem::create_directories(folder);
  std::vector<std::filesystem::path> written;
  for (const auto& [file, text] : {std::pair{"CMakeLists.txt", skeleton_cmake},
                                   {"variants.cpp", skeleton_variants},
                                   {"test.cpp", skeleton_test}}) {
    write_if_changed(folder / file, filled(text, name));
    written.push_back(folder / file);
  }
  return written;
}

}  // namespace fovea
