// target_table.cpp: the rows.
// SPDX-License-Identifier: Apache-2.0
#include "generators/targets/target_table.h"

#include <array>
#include <map>

namespace fovea {
namespace {

// What a target is to the compiler. The facts the runtime shares (name, preference, features) stand
// in targets.def.
struct CompilerFacts {
  const char* halide;
  int vector_bytes, vector_registers;
  const char* tested_by;
};

const CompilerFacts x86_sse41_facts = {"x86-64-linux-sse41", 16, 16, "native"};
// Every level is spelled out: a feature that is not named is not used.
const CompilerFacts x86_avx2_facts = {"x86-64-linux-sse41-avx-f16c-fma-avx2", 32, 16, "native"};
const CompilerFacts x86_avx512_facts = {
    "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake", 64, 32, "native"};

const std::map<std::string, CompilerFacts> facts_by_symbol = {
    {"X86_SSE41", x86_sse41_facts}, {"X86_AVX2", x86_avx2_facts}, {"X86_AVX512", x86_avx512_facts}};

std::vector<TargetRow> make_table() {
  std::vector<TargetRow> rows;
  const auto add = [&](const char* symbol, const char* name, const char* architecture,
                       int preference, const char* needed) {
    const CompilerFacts& f = facts_by_symbol.at(symbol);
    rows.push_back({name, symbol, architecture, preference, needed, f.halide, f.vector_bytes,
                    f.vector_registers, f.tested_by});
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

}  // namespace fovea
