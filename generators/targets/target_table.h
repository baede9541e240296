// target_table.h: the targets kernels can be compiled for. One row each; nothing else in the
// generator knows a target. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_TARGETS_TARGET_TABLE_H
#define FOVEA_GENERATORS_TARGETS_TARGET_TABLE_H

#include <Halide.h>

#include <span>
#include <string>
#include <vector>

namespace fovea {

struct TargetRow {
  const char* name;             // "x86-avx2", as in TARGETS and FOVEA_TARGET
  const char* symbol;           // enumerator of runtime/include/fovea/targets.def
  const char* architecture;     // "x86", "arm64"
  int preference;               // the largest usable one wins at run time
  std::string needed_features;  // as an expression of FOVEA_CPU_MASK, for generated source
  const char* halide;  // Halide target, complete: nothing of the machine that builds may leak in
  int vector_bytes;
  int vector_registers;
  std::vector<std::string> dtypes;  // that kernels of this target may have
  const char* tested_by;

  bool is_for(const std::string& dtype) const;
  // A GPU behind a driver: no part of a library unless it is named.
  bool is_device() const;
  // The architecture of the code that the host runs.
  const char* host() const;
};

// Element types of kernels, as in DTYPES.
std::span<const char* const> dtype_names();

std::span<const TargetRow> target_table();

// nullptr when there is none of that name.
const TargetRow* find_target(const std::string& name);

// Of the machine that this program was built for.
const char* host_architecture();

// Of all rows of CPUs, each once.
std::vector<const char*> architectures();

// The rows of these names in their order, or, without any name, every row of the architecture that
// is for one of the dtypes. An empty architecture is that of the first name, or the host's. Throws
// std::invalid_argument for a name that is unknown, of another architecture (one library is linked
// into programs of one), or of a target that is for none of the dtypes.
std::vector<const TargetRow*> choose_targets(const std::vector<std::string>& names,
                                             const std::vector<std::string>& dtypes,
                                             const std::string& architecture = "");

// Features every CPU kernel is compiled with, whatever the target: no checks of its own (the
// runtime has made them), no runtime inside, its first argument the worker's context, 64-bit
// addressing.
Halide::Target kernel_target(const TargetRow& row);

// Whether the target has an instruction for dot products of pairs of bf16.
bool multiplies_bf16_pairs(const TargetRow& row);

// Whether it multiplies a vector by one lane of another.
bool multiplies_by_lanes(const Halide::Target& target);

}  // namespace fovea

#endif
