// doctor_command.cpp: `doctor`: what this machine has, and what to do about what it has not.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/kernel_build.h"
#include "generators/describe/layout.h"
#include "generators/doctor/checks.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct DoctorArguments {
  std::string cxx, runtime, cache;
  bool json = false;
};

const char* word_of(doctor::Finding finding) {
  switch (finding) {
    case doctor::Finding::Good:
      return "ok";
    case doctor::Finding::Optional:
      return "note";
    default:
      return "MISSING";
  }
}

void print_text(const std::vector<doctor::Check>& checks) {
  std::string group;
  for (const doctor::Check& c : checks) {
    if (c.group != group) {
      group = c.group;
      fmt::print("{}\n", group);
    }
    fmt::print("{}", wrapped(fmt::format("  {:<8} {} ", word_of(c.finding), c.name), 34, c.found));
    if (!c.fix.empty()) fmt::print("{}", wrapped("", 34, "→ " + c.fix));
  }
}

void print_json(const std::vector<doctor::Check>& checks, size_t missing) {
  nlohmann::ordered_json root = {{"ok", missing == 0}, {"checks", nlohmann::ordered_json::array()}};
  for (const doctor::Check& c : checks) {
    root["checks"].push_back(
        {{"group", c.group},
         {"name", c.name},
         {"finding", c.finding == doctor::Finding::Missing ? "missing" : word_of(c.finding)},
         {"found", c.found},
         {"fix", c.fix}});
  }
  fmt::print("{}\n", root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void run_doctor(const DoctorArguments& a) {
  const std::vector<doctor::Check> checks =
      doctor::examine({a.cxx, a.runtime,
                       a.cache.empty() ? bench::default_cache() : std::filesystem::path(a.cache)});
  const auto missing =
      static_cast<size_t>(std::count_if(checks.begin(), checks.end(), [](const doctor::Check& c) {
        return c.finding == doctor::Finding::Missing;
      }));
  if (a.json) {
    print_json(checks, missing);
  } else {
    print_text(checks);
    if (missing == 0) fmt::print("nothing that is needed is missing\n");
  }
  std::fflush(stdout);
  if (missing > 0) {
    throw std::runtime_error(
        fmt::format("{} of what is needed {} missing; the lines above say what "
                    "to do",
                    missing, missing == 1 ? "is" : "are"));
  }
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  auto a = std::make_shared<DoctorArguments>();
  CLI::App* doctor =
      app.add_subcommand("doctor", "what this machine has of what fovea needs, and what to do");
  doctor->footer(
      "example: fovea doctor\n"
      "a note is about something that not everybody needs; the exit code is 1 if something that "
      "is needed is missing");
  doctor->add_option("--cxx", a->cxx, "C++ compiler; default: the one that fovea was built with");
  doctor->add_option("--runtime", a->runtime,
                     "the source tree's runtime folder or the prefix of an installation");
  doctor->add_option("--cache", a->cache, "folder for generated kernels");
  doctor->add_flag("--json", a->json, "one JSON object");
  doctor->callback([a] { run_doctor(*a); });
}

}  // namespace fovea
