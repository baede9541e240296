// kernel_build.h: kernels as shared libraries in a cache folder.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_KERNEL_BUILD_H
#define FOVEA_BENCH_KERNEL_BUILD_H

#include <fovea/dsl/variant.h>

#include <filesystem>
#include <string>
#include <vector>

#include "generators/emit/child_process.h"
#include "generators/emit/kernel_spec.h"

namespace fovea::bench {

// Name of every library that is made; its one variant has index 0.
inline constexpr const char* kernel_library_name = "bench";

struct BuildOptions {
  std::filesystem::path cache;            // a folder of its own for each kernel and schedule
  std::filesystem::path runtime_sources;  // the runtime's .cpp files
  std::filesystem::path runtime_headers;  // the folder that holds fovea/fovea.h
  std::string cxx;
  std::filesystem::path self = {};  // the program that emits; empty: this one
  int jobs = 1;
  ChildLimits limits = {};  // of generating a kernel, and of linking it
  bool quiet = false;       // no lines about kernels on stderr
};

struct BuiltKernel {
  KernelSpec spec;
  std::string overrides;          // of the schedule, as asked for
  std::string schedule;           // all of its parameters
  std::filesystem::path library;  // once built
  std::string error;              // or why not
  bool timed_out = false;
};

// Generates, compiles and links what is not there or no longer valid; several processes may share a
// cache. A kernel that fails has an error and keeps nobody else. Progress goes to stderr. Throws
// std::runtime_error: the runtime does not compile.
void build_kernels(std::vector<BuiltKernel>& kernels, const std::vector<Variant>& declared,
                   const BuildOptions& options);

// $XDG_CACHE_HOME/fovea, else ~/.cache/fovea, else a folder for temporary files.
std::filesystem::path default_cache();

// The options this program was built with; the runtime as installed beside it, else that of its
// source tree. `cxx` and `runtime`, when not empty, take their place. Throws std::runtime_error
// when no runtime is found.
BuildOptions default_build_options(const std::string& cxx, const std::string& runtime);

}  // namespace fovea::bench

#endif
