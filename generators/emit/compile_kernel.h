// compile_kernel.h: one kernel from its declaration to an object file.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_COMPILE_KERNEL_H
#define FOVEA_GENERATORS_EMIT_COMPILE_KERNEL_H

#include <fovea/dsl/variant.h>

#include <cstddef>
#include <string>
#include <vector>

#include "generators/analysis/tile_status.h"
#include "generators/emit/kernel_spec.h"
#include "generators/schedules/kernel_schedule.h"

namespace fovea {

// What the runtime and the manifest need to know of a compiled kernel.
struct KernelFacts {
  int block_rows = 0;         // decode: of the widest tile
  size_t scratch_bytes = 0;   // heap storage of one call of any of its functions, every piece
                              // rounded up to scratch_alignment
  std::string tile_fallback;  // TileStatus::fallback
  int threads = 0;            // of a device: of a block
  size_t shared_bytes = 0;    // and the shared memory that they take

  // Decode; see fovea_decode_info.
  std::vector<int> tile_rows;
  int key_block = 0, chunk_blocks = 0;
  int record_lanes = 0, record_slots = 0, record_groups = 0;
  bool range_of_head = false;
};

inline constexpr size_t scratch_alignment = 64;

// The functions of a decode kernel, by what is appended to its symbol: a part for each number of
// rows, the finish of a row, and the range of blocks.
std::string part_symbol(const std::string& symbol, int rows);
std::string finish_symbol(const std::string& symbol);
std::string range_symbol(const std::string& symbol);

// Files for people, written beside the object under the kernel's name: none by default. Of a device
// the assembly is the program that the driver gets.
struct ByProducts {
  bool assembly = false, statement = false;  // .s, .stmt
};

const char* assembly_extension(const TargetRow& target);

// Compiles the kernel under the symbol `symbol` (of a decode kernel: its functions under symbols
// made from it) into object_path. Throws Halide::Error,
// std::invalid_argument or std::runtime_error; LLVM may abort the process, which is why every
// kernel gets a process of its own.
KernelFacts compile_kernel(const Variant& variant, const KernelSpec& spec,
                           const KernelSchedule& schedule, const std::string& symbol,
                           const std::string& object_path, const ByProducts& by_products = {});

}  // namespace fovea

#endif
