// inspection_text.cpp: an inspection for people and for programs.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "generators/describe/layout.h"
#include "generators/emit/kernel_spec.h"
#include "generators/emit/spec_json.h"
#include "generators/inspect/inspection.h"

namespace fovea {
namespace {

std::string line_of(const Instruction& i) {
  return fmt::format("{:<14} {}", i.mnemonic, i.operands.substr(0, i.operands.find(" <")));
}

std::string calls_text(const InspectedKernel& k) {
  std::string text;
  for (const auto& [name, places] : k.calls)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, places);
  return text.empty() ? "none" : text;
}

std::string cost_text(const InspectedLoop& l) {
  if (!l.cost.cannot.empty()) return "no cycles: " + l.cost.cannot;
  std::string text = fmt::format("{:.1f} cycles ({}), {:.1f} flops per cycle, ", l.cost.cycles,
                                 l.cost.cpu, l.flops_per_cycle());
  if (l.cost.bottleneck == "latency") return text + "waits for results (no unit is always busy)";
  return text + fmt::format("bound by {} ({:.1f} cycles)", l.cost.bottleneck, l.cost.busy_cycles);
}

}  // namespace

nlohmann::ordered_json inspection_json(const std::vector<InspectedKernel>& kernels, bool assembly) {
  using Json = nlohmann::ordered_json;
  Json root = {{"kernels", Json::array()}};
  for (const InspectedKernel& k : kernels) {
    Json row = spec_json(*parse_kernel_name(k.name));
    if (!k.schedule.empty()) row["schedule"] = k.schedule;
    row["code_bytes"] = k.code_bytes;
    row["vector_bytes"] = k.vector_bytes;
    row["hot_loops"] = k.hot_loops;
    row["multiply_adds"] = k.multiply_adds;
    row["spills"] = k.spills;
    row["masked_multiply_adds"] = k.masked_multiply_adds;
    row["calls"] = k.calls;
    row["loops"] = Json::array();
    for (const InspectedLoop& l : k.loops) {
      Json loop = {{"function", l.function},
                   {"instructions", l.loop.body.size()},
                   {"multiply_adds", l.loop.multiply_adds},
                   {"spills", l.loop.spills},
                   {"vector_bytes", l.loop.vector_bytes}};
      if (l.cost.cannot.empty()) {
        loop["cpu"] = l.cost.cpu;
        loop["cycles"] = l.cost.cycles;
        loop["flops_per_cycle"] = l.flops_per_cycle();
        loop["bottleneck"] = l.cost.bottleneck;
        loop["busy_cycles"] = l.cost.busy_cycles;
      } else {
        loop["cannot"] = l.cost.cannot;
      }
      if (assembly) {
        for (const Instruction& i : l.loop.body) loop["assembly"].push_back(line_of(i));
      }
      row["loops"].push_back(std::move(loop));
    }
    root["kernels"].push_back(std::move(row));
  }
  return root;
}

std::string inspection_text(const std::vector<InspectedKernel>& kernels, bool assembly) {
  std::string out;
  for (const InspectedKernel& k : kernels) {
    out += fmt::format("{}{}\n", out.empty() ? "" : "\n", k.name);
    if (!k.schedule.empty()) out += wrapped("  schedule", 14, k.schedule);
    out += fmt::format("  {:<11} {} bytes\n", "code", k.code_bytes);
    out += fmt::format("  {:<11} {} bytes ({} lanes of f32)\n", "vectors", k.vector_bytes,
                       k.vector_bytes / 4);
    out += wrapped("  hot loops", 14,
                   fmt::format("{}, with {} multiply-adds ({} masked) and {} spills", k.hot_loops,
                               k.multiply_adds, k.masked_multiply_adds, k.spills));
    out += wrapped("  calls", 14, calls_text(k));
    for (const InspectedLoop& l : k.loops) {
      out += wrapped("  loop", 14,
                     fmt::format("{} instructions, {} multiply-adds of {} bytes, {} spills",
                                 l.loop.body.size(), l.loop.multiply_adds, l.loop.vector_bytes,
                                 l.loop.spills));
      out += wrapped("", 14, cost_text(l));
      if (!assembly) continue;
      for (const Instruction& i : l.loop.body) out += "    " + line_of(i) + "\n";
    }
  }
  return out;
}

}  // namespace fovea
