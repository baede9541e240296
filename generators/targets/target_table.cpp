// target_table.cpp: the rows.
// SPDX-License-Identifier: Apache-2.0
#include "generators/targets/target_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>

#include "generators/describe/layout.h"

namespace fovea {
namespace {

// What a target is to the compiler. The facts the runtime shares (name, preference, features) stand
// in targets.def.
struct CompilerFacts {
  const char* halide;
  int vector_bytes, vector_registers;
  std::vector<std::string> dtypes;
  const char* tested_by;
};

constexpr std::array all_dtypes = {"f32", "f16", "bf16"};
const std::vector<std::string> every_dtype(all_dtypes.begin(), all_dtypes.end());

const CompilerFacts x86_sse41_facts = {"x86-64-linux-sse41", 16, 16, every_dtype, "native"};
// Every level is spelled out: a feature that is not named is not used.
const CompilerFacts x86_avx2_facts = {"x86-64-linux-sse41-avx-f16c-fma-avx2", 32, 16, every_dtype,
                                      "native"};
const CompilerFacts x86_avx512_facts = {
    "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake", 64, 32, every_dtype, "native"};
// Native bf16 products. What these levels add serves bf16 only: other types are left to x86-avx512.
// Halide compiles them for the CPU of the name, so neither runs on the other vendor's.
const CompilerFacts x86_avx512_bf16_intel_facts = {
    "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4-"
    "avxvnni-avx512_sapphirerapids",
    64,
    32,
    {"bf16"},
    "native where the CPU has it"};
const CompilerFacts x86_avx512_bf16_amd_facts = {
    "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4",
    64,
    32,
    {"bf16"},
    "native where the CPU has it"};

// Every Arm v8 has the vectors. Halide converts f16 by instructions only where it may also compute
// in f16; what else that level adds serves no other type.
const CompilerFacts arm64_neon_facts = {"arm-64-linux", 16, 32, every_dtype, "qemu-user"};
const CompilerFacts arm64_neon_fp16_facts = {"arm-64-linux-arm_fp16", 16, 32, {"f16"}, "qemu-user"};
// Devices: the host's part is baseline code. Vectors are what one thread loads at once.
const CompilerFacts opencl_facts = {"x86-64-linux-opencl", 16, 32, every_dtype, "PoCL"};
const CompilerFacts cuda_sm70_facts = {"x86-64-linux-cuda-cuda_capability_70", 16, 255, every_dtype,
                                       "compiled and inspected; run where a GPU is"};
const CompilerFacts cuda_sm80_facts = {"x86-64-linux-cuda-cuda_capability_80", 16, 255, every_dtype,
                                       "compiled and inspected; run where a GPU is"};
const CompilerFacts cuda_sm86_facts = {"x86-64-linux-cuda-cuda_capability_86", 16, 255, every_dtype,
                                       "compiled and inspected; run where a GPU is"};

const std::map<std::string, CompilerFacts> facts_by_symbol = {
    {"OPENCL", opencl_facts},
    {"CUDA_SM70", cuda_sm70_facts},
    {"CUDA_SM80", cuda_sm80_facts},
    {"CUDA_SM86", cuda_sm86_facts},
    {"X86_SSE41", x86_sse41_facts},
    {"X86_AVX2", x86_avx2_facts},
    {"X86_AVX512", x86_avx512_facts},
    {"X86_AVX512_BF16_INTEL", x86_avx512_bf16_intel_facts},
    {"X86_AVX512_BF16_AMD", x86_avx512_bf16_amd_facts},
    {"ARM64_NEON", arm64_neon_facts},
    {"ARM64_NEON_FP16", arm64_neon_fp16_facts}};

std::vector<TargetRow> make_table() {
  std::vector<TargetRow> rows;
  const auto add = [&](const char* symbol, const char* name, const char* architecture,
                       int preference, const char* needed) {
    const CompilerFacts& f = facts_by_symbol.at(symbol);
    rows.push_back({name, symbol, architecture, preference, needed, f.halide, f.vector_bytes,
                    f.vector_registers, f.dtypes, f.tested_by});
  };
#define FOVEA_STRING_(...) #__VA_ARGS__
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  add(#symbol, name, architecture, preference, FOVEA_STRING_((__VA_ARGS__)));
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
#undef FOVEA_STRING_
  return rows;
}

}  // namespace

std::span<const TargetRow> target_table() {
  static const std::vector<TargetRow> rows = make_table();
  return rows;
}

const TargetRow* find_target(const std::string& name) {
  for (const TargetRow& row : target_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

bool TargetRow::is_for(const std::string& dtype) const {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

bool TargetRow::is_device() const { return Halide::Target(halide).has_gpu_feature(); }

const char* TargetRow::host() const { return is_device() ? "x86" : architecture; }

std::span<const char* const> dtype_names() { return all_dtypes; }

const char* host_architecture() {
#if defined(__aarch64__)
  return "arm64";
#else
  return "x86";
#endif
}

std::vector<const char*> architectures() {
  std::vector<const char*> all;
  for (const TargetRow& row : target_table()) {
    if (row.is_device()) continue;
    const auto same = [&](const char* a) { return std::strcmp(a, row.architecture) == 0; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(row.architecture);
  }
  return all;
}

std::vector<const TargetRow*> choose_targets(const std::vector<std::string>& names,
                                             const std::vector<std::string>& dtypes,
                                             const std::string& architecture) {
  const std::vector<const char*> known_architectures = architectures();
  if (!architecture.empty() && std::find(known_architectures.begin(), known_architectures.end(),
                                         architecture) == known_architectures.end()) {
    throw std::invalid_argument(fmt::format("architecture '{}': allowed is one of {}", architecture,
                                            fmt::join(known_architectures, ", ")));
  }
  const auto is_asked_for = [&](const TargetRow& row) {
    return std::any_of(dtypes.begin(), dtypes.end(),
                       [&](const std::string& dtype) { return row.is_for(dtype); });
  };
  std::string wanted = architecture;
  std::vector<const TargetRow*> chosen;
  for (const std::string& name : names) {
    const TargetRow* row = find_target(name);
    if (!row) {
      std::vector<std::string> known;
      for (const TargetRow& r : target_table()) known.emplace_back(r.name);
      throw std::invalid_argument(fmt::format("target '{}': allowed is one of {}{}", name,
                                              fmt::join(known, ", "), suggestion(name, known)));
    }
    if (wanted.empty()) wanted = row->host();
    if (wanted != row->host()) {
      throw std::invalid_argument(
          fmt::format("target '{}' is for {}: allowed are targets of one architecture, here {}",
                      name, row->host(), wanted));
    }
    if (!is_asked_for(*row)) {
      throw std::invalid_argument(
          fmt::format("target '{}': allowed is only with dtype {}, which is not among {}", name,
                      fmt::join(row->dtypes, " or "), fmt::join(dtypes, ", ")));
    }
    chosen.push_back(row);
  }
  if (!names.empty()) return chosen;
  if (wanted.empty()) wanted = host_architecture();
  for (const TargetRow& row : target_table()) {
    if (wanted == row.architecture && is_asked_for(row)) chosen.push_back(&row);
  }
  return chosen;
}

Halide::Target kernel_target(const TargetRow& row) {
  using T = Halide::Target;
  return T(row.halide)
      .with_feature(T::NoRuntime)
      .with_feature(T::NoAsserts)
      .with_feature(T::NoBoundsQuery)
      .with_feature(T::UserContext)
      .with_feature(T::LargeBuffers);
}

bool multiplies_bf16_pairs(const TargetRow& row) {
  using T = Halide::Target;
  return T(row.halide).features_any_of({T::AVX512_Zen4, T::AVX512_SapphireRapids});
}

bool multiplies_by_lanes(const Halide::Target& target) {
  return target.arch == Halide::Target::ARM && target.bits == 64;
}

}  // namespace fovea
