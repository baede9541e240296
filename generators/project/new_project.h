// new_project.h: a small CMake project with a variant, to begin with.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_PROJECT_NEW_PROJECT_H
#define FOVEA_GENERATORS_PROJECT_NEW_PROJECT_H

#include <filesystem>
#include <string>
#include <vector>

namespace fovea {

// The names of the files that it writes into `folder`: CMakeLists.txt, variants.cpp, test.cpp.
// Throws std::invalid_argument, and writes nothing, for a name that no variant can have and for a
// folder that holds anything.
std::vector<std::filesystem::path> write_new_project(const std::string& name,
                                                     const std::filesystem::path& folder);

}  // namespace fovea

#endif
