// inspection.cpp: kernels of an object, put together from its functions.
// SPDX-License-Identifier: Apache-2.0
#include "generators/inspect/inspection.h"

#include <algorithm>
#include <stdexcept>

#include "generators/emit/kernel_spec.h"
#include "generators/targets/target_table.h"
#include "runtime/src/cpu_detect.h"

namespace fovea {
namespace {

// The kernel that a symbol belongs to: <library>__<kernel name>, and what a part of it is called.
std::string kernel_of(const std::string& symbol) {
  const size_t begin = symbol.find("__fovea_");
  if (begin == std::string::npos) return "";
  for (std::string name = symbol.substr(begin + 2); !name.empty();) {
    // Without the look at the table, every suffix would be part of the target.
    const std::optional<KernelSpec> spec = parse_kernel_name(name);
    if (spec && find_target(spec->target)) return name;
    const size_t end = name.rfind('_');
    if (end == std::string::npos) break;
    name.resize(end);
    while (name.ends_with("_")) name.pop_back();
  }
  return "";
}

// For kernels that do not run here: a CPU of that architecture that is common in servers.
const char* foreign_cpu(const std::string& architecture) {
  return architecture == "arm64" ? "neoverse-n1" : "skylake-avx512";
}

void add_function(const DisassembledFunction& function, InspectedKernel& kernel) {
  for (const std::string& name : function.calls) {
    if (kernel_of(name) != kernel.name) ++kernel.calls[name];
  }
  for (Loop& loop : hot_loops(function)) {
    ++kernel.hot_loops;
    kernel.multiply_adds += loop.multiply_adds;
    kernel.spills += loop.spills;
    kernel.masked_multiply_adds += loop.masked_multiply_adds;
    kernel.vector_bytes = std::max(kernel.vector_bytes, loop.vector_bytes);
    kernel.loops.push_back({function.name, std::move(loop), {}});
  }
}

}  // namespace

double InspectedLoop::flops_per_cycle() const {
  if (cost.cycles <= 0) return 0;
  const double lanes = loop.vector_bytes / 4.0;
  return 2 * lanes * static_cast<double>(loop.multiply_adds + loop.pairs) / cost.cycles;
}

std::vector<InspectedKernel> inspect_object(const std::filesystem::path& object,
                                            const InspectOptions& options) {
  std::map<std::string, InspectedKernel> by_name;
  const auto kernel = [&](const std::string& symbol) -> InspectedKernel* {
    const std::string name = kernel_of(symbol);
    if (name.empty()) return nullptr;
    InspectedKernel& k = by_name[name];
    k.name = name;
    k.architecture = find_target(parse_kernel_name(name)->target)->architecture;
    return &k;
  };
  for (const auto& [symbol, bytes] : code_sizes(object)) {
    if (InspectedKernel* k = kernel(symbol)) k->code_bytes += bytes;
  }
  if (by_name.empty()) throw std::runtime_error(object.string() + " holds no kernel of fovea");
  for (const DisassembledFunction& function : functions_of(disassembly_of(object))) {
    if (InspectedKernel* k = kernel(function.name)) add_function(function, *k);
  }
  std::vector<InspectedKernel> kernels;
  for (auto& [name, k] : by_name) {
    std::stable_sort(k.loops.begin(), k.loops.end(),
                     [](const InspectedLoop& a, const InspectedLoop& b) {
                       return a.loop.multiply_adds > b.loop.multiply_adds;
                     });
    if (k.loops.size() > options.loops) k.loops.resize(options.loops);
    std::vector<const Loop*> loops;
    for (const InspectedLoop& l : k.loops) loops.push_back(&l.loop);
    const bool is_foreign = k.architecture != detail::cpu_architecture();
    const std::string cpu =
        options.cpu == "native" && is_foreign ? foreign_cpu(k.architecture) : options.cpu;
    const std::vector<LoopCost> costs = loop_costs(loops, k.architecture, cpu);
    for (size_t i = 0; i < costs.size(); ++i) k.loops[i].cost = costs[i];
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace fovea
