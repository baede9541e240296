// inspection.h: what the compiler made of kernels.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_INSPECT_INSPECTION_H
#define FOVEA_GENERATORS_INSPECT_INSPECTION_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generators/inspect/hot_loops.h"
#include "generators/inspect/llvm_tools.h"

namespace fovea {

struct InspectedLoop {
  std::string function;
  Loop loop;
  LoopCost cost;

  // Of f32: two for each lane of a multiply-add, four where it takes pairs.
  double flops_per_cycle() const;
};

struct InspectedKernel {
  std::string name;      // fovea_prefill__…
  std::string schedule;  // empty: not known
  std::string architecture;
  uint64_t code_bytes = 0;
  int vector_bytes = 0;  // of the widest multiply-add
  int64_t hot_loops = 0, multiply_adds = 0, spills = 0, masked_multiply_adds = 0;
  std::map<std::string, int64_t> calls;  // name -> places
  std::vector<InspectedLoop> loops;      // with the most multiply-adds, at most as many as asked
};

struct InspectOptions {
  std::string cpu = "native";  // as llvm-mca names it
  size_t loops = 2;            // of each kernel that are looked at closely
};

// The kernels in an object or archive, in the order of their names.
std::vector<InspectedKernel> inspect_object(const std::filesystem::path& object,
                                            const InspectOptions& options);

nlohmann::ordered_json inspection_json(const std::vector<InspectedKernel>& kernels, bool assembly);
std::string inspection_text(const std::vector<InspectedKernel>& kernels, bool assembly);

}  // namespace fovea

#endif
