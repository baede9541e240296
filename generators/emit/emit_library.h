// emit_library.h: from a plan to the files of a generated library.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_EMIT_LIBRARY_H
#define FOVEA_GENERATORS_EMIT_EMIT_LIBRARY_H

#include <filesystem>
#include <string>
#include <vector>

#include "generators/emit/library_spec.h"

namespace fovea {

struct EmitOptions {
  std::filesystem::path out;
  std::filesystem::path self;  // this program, started once per kernel
  std::vector<std::string>
      identity_files;  // files whose contents decide the code of kernels; empty: self
  int jobs = 1;
  std::string linker, objcopy;  // empty: those of binutils for the architecture of the targets
  ByProducts by_products;
};

// Writes into options.out:
//   kernels/<kernel>.o, .json   one of each kernel; kept while its identity (declaration, schedule,
//   target, compiler) holds <name>_kernels.o            all kernels and one private Halide runtime,
//   only entry points visible include/<name>.h, .hpp      for applications <name>_registry.cpp
//   tables and entry points, to be compiled with the runtime <name>.json                 the
//   manifest
// Progress goes to stderr. Throws std::runtime_error when a kernel or a tool fails; finished
// kernels are kept.
void emit_library(LibraryPlan plan, const EmitOptions& options);

// The part of it that runs in a process of its own: compiles one planned kernel into
// options.out/kernels.
void emit_kernel(const LibraryPlan& plan, const PlannedKernel& kernel, const std::string& identity,
                 const EmitOptions& options);

}  // namespace fovea

#endif
