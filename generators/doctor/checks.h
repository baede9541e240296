// checks.h: whether this machine has what fovea needs, and what to do where it has not.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_DOCTOR_CHECKS_H
#define FOVEA_GENERATORS_DOCTOR_CHECKS_H

#include <filesystem>
#include <string>
#include <vector>

namespace fovea::doctor {

enum class Finding {
  Good,
  Optional,  // something that not everybody needs is missing
  Missing    // what building, measuring or running needs
};

struct Check {
  std::string group, name;
  Finding finding = Finding::Good;
  std::string found;  // a path, a version; or what is wrong
  std::string fix;    // what to do; empty if there is nothing to do
};

struct Options {
  std::string cxx, runtime;  // as of bench
  std::filesystem::path cache;
};

std::vector<Check> examine(const Options& options);

}  // namespace fovea::doctor

#endif
