// compile_kernel.h: one kernel from its declaration to an object file.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_COMPILE_KERNEL_H
#define FOVEA_GENERATORS_EMIT_COMPILE_KERNEL_H

#include <fovea/dsl/variant.h>

#include <cstddef>
#include <string>

#include "generators/analysis/tile_status.h"
#include "generators/emit/kernel_spec.h"
#include "generators/schedules/prefill_cpu.h"

namespace fovea {

// What the runtime and the manifest need to know of a compiled kernel.
struct KernelFacts {
  int block_rows = 0;
  size_t scratch_bytes =
      0;  // heap storage of one call, every piece rounded up to scratch_alignment
  std::string tile_fallback;  // TileStatus::fallback
};

inline constexpr size_t scratch_alignment = 64;

// Files for people, written beside the object under the kernel's name: none by default.
struct ByProducts {
  bool assembly = false, statement = false;  // .s, .stmt
};

// Compiles the kernel under the symbol `symbol` into object_path. Throws Halide::Error,
// std::invalid_argument or std::runtime_error; LLVM may abort the process, which is why every
// kernel gets a process of its own.
KernelFacts compile_kernel(const Variant& variant, const KernelSpec& spec,
                           const PrefillCpuSchedule& schedule, const std::string& symbol,
                           const std::string& object_path, const ByProducts& by_products = {});

}  // namespace fovea

#endif
