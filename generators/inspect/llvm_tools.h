// llvm_tools.h: LLVM's programs, run as child processes on finished code.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_INSPECT_LLVM_TOOLS_H
#define FOVEA_GENERATORS_INSPECT_LLVM_TOOLS_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generators/inspect/hot_loops.h"

namespace fovea {

// Debian's names of LLVM 19, the version that Halide 21 contains.
inline constexpr const char* objdump_program = "llvm-objdump-19";
inline constexpr const char* nm_program = "llvm-nm-19";
inline constexpr const char* mca_program = "llvm-mca-19";

// Where PATH has it.
std::optional<std::filesystem::path> find_on_path(const std::string& program);

// These throw std::runtime_error; of a program that is missing it says how to get it.
// An object or archive as text, calls with their names.
std::string disassembly_of(const std::filesystem::path& object);
// Bytes of each function.
std::map<std::string, uint64_t> code_sizes(const std::filesystem::path& object);

struct LoopCost {
  std::string cpu;         // whose cycles these are
  double cycles = 0;       // of one iteration among many
  std::string bottleneck;  // the unit that is busy longest, or "latency" if none is always busy
  double busy_cycles = 0;  // of that unit in one iteration
  std::string cannot;      // why there is no figure
};

// As llvm-mca models the CPU ("znver4", "native"): every load hits the first cache. One cost for
// each loop.
std::vector<LoopCost> loop_costs(const std::vector<const Loop*>& loops,
                                 const std::string& architecture, const std::string& cpu);

}  // namespace fovea

#endif
