// recorded_cpus.cpp: the words, as CPUs report them.
// SPDX-License-Identifier: Apache-2.0
#include "generators/explain/recorded_cpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "generators/describe/layout.h"
#include "runtime/src/targets.h"

namespace fovea {
namespace {

using detail::X86Leaves;

X86Leaves signed_by(X86Leaves leaves, const char* vendor, uint32_t signature) {
  std::memcpy(leaves.vendor, vendor, sizeof leaves.vendor);
  leaves.leaf1_eax = signature;
  return leaves;
}

constexpr const char* intel = "GenuineIntel";
constexpr const char* amd = "AuthenticAMD";
constexpr X86Leaves sapphire_rapids = {32,      0x7ffefbff, 0xf3bfbffb, 0x80000008, 0x121,
                                       0x602e7, 0xfb417ffe, 0xffdd4432, 0x1c30};
constexpr X86Leaves zen_4 = {16,    0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff,
                             0x2e7, 0x00405fce, 0x10000010, 0x20};
constexpr X86Leaves zen_5 = {16,    0x7efa320b, 0xf1bf97a9, 0x80000028, 0x75c237ff,
                             0x2e7, 0x00405fce, 0x10000010, 0x30};

}  // namespace

std::span<const RecordedCpu> recorded_cpus() {
  static const std::array cpus = {
      RecordedCpu{"nehalem", signed_by({11, 0x0098e3bd, 0, 0x80000008, 0x1, 0}, intel, 0x000106a5)},
      RecordedCpu{"haswell", signed_by({13, 0x7ffafbff, 0x000027ab, 0x80000008, 0x21, 0x7}, intel,
                                       0x000306c3)},
      RecordedCpu{"skylake-x", signed_by({22, 0x7ffefbff, 0xd39ffffb, 0x80000008, 0x121, 0x2ff},
                                         intel, 0x00050654)},
      RecordedCpu{"ice-lake",
                  signed_by({27, 0x7ffafbff, 0xf2bf27ef, 0x80000008, 0x121, 0x2e7, 0x40405f5e},
                            intel, 0x000606a6)},
      RecordedCpu{"sapphire-rapids", signed_by(sapphire_rapids, intel, 0x000806f8)},
      RecordedCpu{"emerald-rapids", signed_by(sapphire_rapids, intel, 0x000c06f2)},
      RecordedCpu{"zen-2", signed_by({16, 0x7ef8320b, 0x219c91a9, 0x80000020, 0x75c237ff, 0x207},
                                     amd, 0x00830f10)},
      RecordedCpu{"zen-4", signed_by(zen_4, amd, 0x00a10f11)},
      RecordedCpu{"zen-5", signed_by(zen_5, amd, 0x00b00f21)},
  };
  return cpus;
}

detail::Capabilities capabilities_of(const std::string& cpu) {
  if (cpu == "here") {
    const char* forced = getenv("FOVEA_TARGET");
    if (forced != nullptr && *forced == '\0') forced = nullptr;
    return {detail::cpu_architecture(),
            detail::cpu_features(),
            detail::cpu_family(),
            detail::kAllTargetsEnabled,
            forced,
            "FOVEA_TARGET"};
  }
  std::vector<std::string> names = {"here"};
  for (const RecordedCpu& known : recorded_cpus()) {
    if (cpu == known.name) {
      return {"x86",
              detail::x86_features(known.leaves),
              detail::x86_family(known.leaves),
              detail::kAllTargetsEnabled,
              nullptr,
              ""};
    }
    names.emplace_back(known.name);
  }
  throw std::invalid_argument(fmt::format("--cpu '{}': allowed is {}{}", cpu,
                                          fmt::join(names, ", "), suggestion(cpu, names)));
}

}  // namespace fovea
