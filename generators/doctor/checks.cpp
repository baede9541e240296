// checks.cpp: the list of what is looked at.
// SPDX-License-Identifier: Apache-2.0
#include "generators/doctor/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/fovea.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "bench/kernel_build.h"
#include "bench/peer_pool.h"
#include "bench/samples.h"
#include "generators/emit/child_process.h"
#include "generators/emit/files.h"
#include "generators/inspect/llvm_tools.h"
#include "generators/inspect/temporary_folder.h"
#include "generators/targets/target_table.h"
#include "runtime/src/cpu_detect.h"
#include "runtime/src/cpu_family.h"
#include "runtime/src/gpu/device.h"

namespace fovea::doctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* set_up = "bash scripts/setup.sh installs it; then source scripts/env.sh";

// The first line that a program prints of itself; empty if it does not run.
std::string version_of(const std::string& program) {
  try {
    const TemporaryFolder folder("fovea-doctor");
    run_program({program, "--version"}, folder.path() / "output");
    const std::string text = read_file(folder.path() / "output");
    // LLVM's tools begin with an address, "Debian LLVM version 19.1" follows.
    const size_t mark = text.find("LLVM version");
    const size_t begin = mark == std::string::npos ? 0 : mark;
    return text.substr(begin, text.find('\n', begin) - begin);
  } catch (const std::exception&) {
    return "";
  }
}

// As cmake/foveaConfig.cmake.in has it.
constexpr int least_cmake[] = {3, 28};

// "cmake version 3.25.1"
bool is_new_enough(const std::string& version) {
  int major = 0, minor = 0;
  const size_t number = version.find_first_of("0123456789");
  if (number == std::string::npos) return false;
  if (std::sscanf(version.c_str() + number, "%d.%d", &major, &minor) != 2) return false;
  return major > least_cmake[0] || (major == least_cmake[0] && minor >= least_cmake[1]);
}

Check program(const std::string& group, const std::string& name, Finding if_missing,
              const std::string& serves, const std::string& fix) {
  Check c = {group, name, Finding::Good, "", ""};
  const std::optional<fs::path> path = find_on_path(name);
  if (!path) {
    c.finding = if_missing;
    c.found = "not on PATH; " + serves;
    c.fix = fix;
    return c;
  }
  const std::string version = version_of(name);
  c.found = path->string() + (version.empty() ? "" : " (" + version + ")");
  return c;
}

std::string feature_names(uint64_t features) {
  char text[1024];
  detail::Text out(text, sizeof text);
  detail::append_feature_names(out, features, ", ");
  return text;
}

void add_targets(std::vector<Check>& all) {
  struct Row {
    const char *name, *architecture;
    uint64_t needed;
  };
  static const Row rows[] = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  {name, architecture, (__VA_ARGS__)},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
  };
  bool any = false;
  for (const Row& row : rows) {
    Check c = {"targets", row.name, Finding::Good, "runs here", ""};
    const uint64_t missing = row.needed & ~detail::cpu_features();
    if (detail::device_of(row.architecture) != FOVEA_DEVICE_CPU) {
      c.finding = Finding::Optional;
      c.found = fmt::format("computes on device {}, which calls ask for in exec.device",
                            row.architecture);
    } else if (std::string(row.architecture) != detail::cpu_architecture()) {
      c.finding = Finding::Optional;
      c.found = fmt::format("is for {}, this machine is {}", row.architecture,
                            detail::cpu_architecture());
    } else if (missing != 0) {
      c.finding = Finding::Optional;
      c.found = "CPU lacks " + feature_names(missing);
    } else {
      any = true;
    }
    all.push_back(std::move(c));
  }
  if (!any)
    all.push_back({"targets", "any", Finding::Missing, "this CPU runs no target",
                   "kernels can be built here, but run on another machine"});
}

void add_machine(std::vector<Check>& all) {
  all.push_back({"machine", "CPU", Finding::Good,
                 fmt::format("{}, family {}", bench::cpu_name(),
                             detail::cpu_family_name(detail::cpu_family())),
                 ""});
  const unsigned cpus = std::thread::hardware_concurrency();
  all.push_back({"machine", "CPUs", Finding::Good, std::to_string(cpus), ""});
  double load[1] = {0};
  if (getloadavg(load, 1) == 1) {
    Check c = {"machine", "load", Finding::Good, fmt::format("{:.1f}", load[0]), ""};
    if (load[0] > 0.5) {
      c.finding = Finding::Optional;
      c.found += ", other work is running";
      c.fix = "wait with measurements: times taken now are not those of the kernels";
    }
    all.push_back(std::move(c));
  }
  if (const char* forced = getenv("FOVEA_TARGET"); forced != nullptr && *forced != '\0') {
    const bool known = find_target(forced) != nullptr;
    all.push_back({"machine", "FOVEA_TARGET", known ? Finding::Optional : Finding::Missing,
                   fmt::format("'{}' forces the target of every call{}", forced,
                               known ? "" : ", and there is none of that name"),
                   "unset FOVEA_TARGET, unless that is what you want"});
  }
}

void add_building(std::vector<Check>& all, const Options& o) {
  all.push_back({"building", "fovea", Finding::Good,
                 fmt::format("{}.{}.{}, with Halide {}.{}.{}", FOVEA_VERSION_MAJOR,
                             FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH, HALIDE_VERSION_MAJOR,
                             HALIDE_VERSION_MINOR, HALIDE_VERSION_PATCH),
                 ""});
  std::string cxx = o.cxx;
  try {
    const bench::BuildOptions build = bench::default_build_options(o.cxx, o.runtime);
    cxx = build.cxx;
    all.push_back(
        {"building", "runtime sources", Finding::Good, build.runtime_sources.string(), ""});
  } catch (const std::exception& error) {
    all.push_back({"building", "runtime sources", Finding::Missing, error.what(),
                   "run the program of the build tree or of an installation, or give --runtime"});
  }
  if (!cxx.empty()) {
    all.push_back(program("building", cxx, Finding::Missing, "bench compiles the runtime with it",
                          "install g++ or name another compiler with --cxx"));
  }
  for (const char* tool : {"ld", "objcopy"}) {
    all.push_back(program("building", tool, Finding::Missing, "emit joins kernels with it",
                          "install the Debian package binutils"));
  }
  Check cmake =
      program("building", "cmake", Finding::Optional, "fovea_add_library needs it", set_up);
  if (cmake.finding == Finding::Good && !is_new_enough(version_of("cmake"))) {
    cmake.finding = Finding::Optional;
    cmake.found += fmt::format("; fovea_add_library needs {}.{}", least_cmake[0], least_cmake[1]);
    cmake.fix = set_up;
  }
  all.push_back(std::move(cmake));
  all.push_back(
      program("building", "ninja", Finding::Optional, "fovea_add_library needs it", set_up));
}

void add_folders(std::vector<Check>& all, const Options& o) {
  Check c = {"building", "kernel cache", Finding::Good, o.cache.string(), ""};
  std::error_code error;
  fs::create_directories(o.cache, error);
  if (error || access(o.cache.c_str(), W_OK) != 0) {
    c.finding = Finding::Missing;
    c.found += " cannot be written";
    c.fix = "give bench a folder with --cache, or set XDG_CACHE_HOME";
  } else {
    uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(o.cache, error)) {
      if (entry.is_regular_file(error)) bytes += entry.file_size(error);
    }
    c.found += fmt::format(" ({} MB)", bytes >> 20);
  }
  all.push_back(std::move(c));
}

void add_extras(std::vector<Check>& all) {
  for (const char* tool : {objdump_program, nm_program, mca_program}) {
    all.push_back(program("inspection", tool, Finding::Optional, "inspect needs it",
                          "install the Debian packages llvm-19 and llvm-19-tools"));
  }
  all.push_back(program("other targets", "qemu-aarch64", Finding::Optional, "runs ARM kernels here",
                        "install the Debian package qemu-user"));
  all.push_back(program("other targets", "aarch64-linux-gnu-g++", Finding::Optional,
                        "compiles ARM programs here",
                        "install the Debian package g++-aarch64-linux-gnu"));
  Check ptxas = program("other targets", "ptxas", Finding::Optional, "checks CUDA kernels",
                        "install the CUDA toolkit, or add its bin folder to PATH");
  if (const std::string usual = "/usr/local/cuda/bin/ptxas";
      ptxas.finding != Finding::Good && fs::exists(usual))
    ptxas = {"other targets", "ptxas", Finding::Good, usual, ""};
  all.push_back(std::move(ptxas));
  const fs::path pocl = "/etc/OpenCL/vendors/pocl.icd";
  const bool has_pocl = fs::exists(pocl);
  all.push_back({"other targets", "PoCL", has_pocl ? Finding::Good : Finding::Optional,
                 has_pocl ? pocl.string() : "not installed; runs OpenCL kernels on the CPU",
                 has_pocl ? "" : "install the Debian package pocl-opencl-icd"});
  const fs::path python = bench::default_peer_options().python;
  const bool has_peers = fs::exists(python);
  all.push_back({"measuring", "peers", has_peers ? Finding::Good : Finding::Optional,
                 has_peers
                     ? python.string()
                     : "PyTorch, ONNX Runtime and ggml are not there; bench compares with them",
                 has_peers ? "" : "bash scripts/peers.sh installs them"});
}

}  // namespace

std::vector<Check> examine(const Options& options) {
  std::vector<Check> all;
  add_machine(all);
  add_targets(all);
  add_building(all, options);
  add_folders(all, options);
  add_extras(all);
  return all;
}

}  // namespace fovea::doctor
