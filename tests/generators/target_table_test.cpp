// target_table_test.cpp: the rows of the target table against the list that the runtime shares.
// SPDX-License-Identifier: Apache-2.0
#include "generators/targets/target_table.h"

#include <fovea/registry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace fovea {
namespace {

struct SharedRow {
  const char* name;
  const char* architecture;
  int preference;
  uint64_t needed;
};

const std::map<std::string, SharedRow> shared_rows = {
#define FOVEA_TARGET_ROW(symbol, name, architecture, preference, ...) \
  {#symbol, {name, architecture, preference, __VA_ARGS__}},
#include <fovea/targets.def>
#undef FOVEA_TARGET_ROW
};

uint64_t feature_mask(const std::string& name) {
  static const std::map<std::string, uint64_t> masks = {
#define FOVEA_CPU_FEATURE(enumerator, bit, name, architecture) {name, uint64_t{1} << (bit)},
#include <fovea/cpu_features.def>
#undef FOVEA_CPU_FEATURE
  };
  const auto it = masks.find(name);
  return it == masks.end() ? 0 : it->second;
}

TEST(TargetTable, HasTheRowsOfTheSharedList) {
  ASSERT_EQ(target_table().size(), shared_rows.size());
  for (const TargetRow& row : target_table()) {
    SCOPED_TRACE(row.name);
    const auto shared = shared_rows.find(row.symbol);
    ASSERT_NE(shared, shared_rows.end());
    EXPECT_STREQ(row.name, shared->second.name);
    EXPECT_STREQ(row.architecture, shared->second.architecture);
    EXPECT_EQ(row.preference, shared->second.preference);
    EXPECT_EQ(find_target(row.name), &row);
    EXPECT_FALSE(std::string(row.tested_by).empty());
  }
  EXPECT_EQ(find_target("x86-avx3"), nullptr);
  EXPECT_EQ(find_target(""), nullptr);
}

TEST(TargetTable, NamesAndPreferencesAreUnique) {
  std::set<std::string> names, symbols;
  std::set<int> preferences;
  for (const TargetRow& row : target_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(symbols.insert(row.symbol).second) << row.symbol;
    // Equal ones would leave the choice to the order of the rows.
    EXPECT_TRUE(preferences.insert(row.preference).second) << row.name;
    EXPECT_EQ(std::string(row.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos)
        << "'" << row.name << "' has to survive in kernel names and in FOVEA_TARGET lists";
    EXPECT_EQ(std::string(row.name).find("--"), std::string::npos);
  }
}

// The compiler may use exactly these. A feature that comes in by default, or from the machine that
// builds, would run on machines that lack it.
TEST(TargetTable, KernelTargetsAreComplete) {
  std::map<std::string, std::string> texts;
  for (const TargetRow& row : target_table()) texts[row.name] = kernel_target(row).to_string();
  EXPECT_EQ(texts, (std::map<std::string, std::string>{
                       {"x86-sse41",
                        "x86-64-linux-large_buffers-no_asserts-no_bounds_query-no_runtime-sse41-"
                        "user_context"},
                       {"x86-avx2",
                        "x86-64-linux-avx-avx2-f16c-fma-large_buffers-no_asserts-no_bounds_query-"
                        "no_runtime-sse41-user_context"},
                       {"x86-avx512",
                        "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-large_buffers-"
                        "no_asserts-no_bounds_query-no_runtime-sse41-user_context"},
                       {"x86-avx512-bf16-amd",
                        "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_"
                        "zen4-f16c-fma-large_buffers-no_asserts-no_bounds_query-no_runtime-sse41-"
                        "user_context"},
                       {"x86-avx512-bf16-intel",
                        "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_sapphirerapids-"
                        "avx512_skylake-avx512_zen4-avxvnni-f16c-fma-large_buffers-no_asserts-"
                        "no_bounds_query-no_runtime-sse41-user_context"},
                       {"arm64-neon",
                        "arm-64-linux-large_buffers-no_asserts-no_bounds_query-no_runtime-user_"
                        "context"},
                       {"arm64-neon-fp16",
                        "arm-64-linux-arm_fp16-large_buffers-no_asserts-no_bounds_query-no_"
                        "runtime-user_context"},
                       // The host's part of a device kernel is baseline code.
                       {"opencl",
                        "x86-64-linux-large_buffers-no_asserts-no_bounds_query-no_runtime-opencl-"
                        "user_context"},
                       {"cuda-sm70",
                        "x86-64-linux-cuda-cuda_capability_70-large_buffers-no_asserts-no_bounds_"
                        "query-no_runtime-user_context"},
                       {"cuda-sm80",
                        "x86-64-linux-cuda-cuda_capability_80-large_buffers-no_asserts-no_bounds_"
                        "query-no_runtime-user_context"},
                       {"cuda-sm86",
                        "x86-64-linux-cuda-cuda_capability_86-large_buffers-no_asserts-no_bounds_"
                        "query-no_runtime-user_context"}}));
}

// What Halide is told to use is what the runtime asks the CPU for.
TEST(TargetTable, HalideFeaturesAreNeeded) {
  using T = Halide::Target;
  const std::map<std::string, T::Feature> names = {{"sse41", T::SSE41},
                                                   {"avx", T::AVX},
                                                   {"f16c", T::F16C},
                                                   {"fma", T::FMA},
                                                   {"avx2", T::AVX2},
                                                   {"avx512f", T::AVX512},
                                                   {"avx512bf16", T::AVX512_Zen4},
                                                   {"avx512fp16", T::AVX512_SapphireRapids},
                                                   {"avxvnni", T::AVXVNNI},
                                                   {"asimdhp", T::ARMFp16},
                                                   {"fphp", T::ARMFp16},
                                                   {"asimddp", T::ARMDotProd},
                                                   {"sve", T::SVE},
                                                   {"sve2", T::SVE2}};
  for (const TargetRow& row : target_table()) {
    SCOPED_TRACE(row.name);
    const Halide::Target target = kernel_target(row);
    EXPECT_EQ(target.os, T::Linux);
    EXPECT_EQ(target.arch, std::string(row.architecture) == "arm64" ? T::ARM : T::X86);
    EXPECT_EQ(target.bits, 64);
    if (row.is_device()) {
      EXPECT_STREQ(row.host(), "x86");
      continue;
    }
    EXPECT_EQ(target.natural_vector_size<float>() * 4, row.vector_bytes);
    const uint64_t needed = shared_rows.at(row.symbol).needed;
    // Its vectors are what Halide assumes.
    EXPECT_EQ((needed & feature_mask("asimd")) != 0, target.arch == T::ARM);
    for (const auto& [name, feature] : names) {
      ASSERT_NE(feature_mask(name), 0u) << name;
      EXPECT_EQ(target.has_feature(feature), (needed & feature_mask(name)) != 0) << name;
    }
    if (target.has_feature(T::AVX512_Skylake)) {
      for (const char* name : {"avx512cd", "avx512bw", "avx512dq", "avx512vl"})
        EXPECT_NE(needed & feature_mask(name), 0u) << name;
    }
    if (target.has_feature(T::AVX512_Zen4)) {
      for (const char* name : {"avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512vnni",
                               "avx512bitalg", "avx512vpopcntdq", "gfni", "vaes", "vpclmulqdq"})
        EXPECT_NE(needed & feature_mask(name), 0u) << name;
      // Halide compiles for a Zen 4 CPU, or for a Sapphire Rapids one if that is named as well.
      EXPECT_EQ((needed & feature_mask("sse4a")) != 0,
                !target.has_feature(T::AVX512_SapphireRapids));
    }
  }
}

std::vector<std::string> chosen(const std::vector<std::string>& names,
                                const std::vector<std::string>& dtypes,
                                const std::string& architecture = "") {
  std::vector<std::string> result;
  for (const TargetRow* row : choose_targets(names, dtypes, architecture))
    result.push_back(row->name);
  return result;
}

std::string refusal(const std::vector<std::string>& names, const std::vector<std::string>& dtypes,
                    const std::string& architecture = "") {
  try {
    choose_targets(names, dtypes, architecture);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TargetTable, TypesOfATarget) {
  const std::set<std::string> known(dtype_names().begin(), dtype_names().end());
  EXPECT_EQ(known, (std::set<std::string>{"f32", "f16", "bf16"}));
  for (const TargetRow& row : target_table()) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(row.dtypes.empty());
    for (const std::string& dtype : row.dtypes) EXPECT_EQ(known.count(dtype), 1u) << dtype;
    const bool is_native_bf16 = std::string(row.name).find("-bf16-") != std::string::npos;
    const bool is_native_f16 = std::string(row.name).find("-fp16") != std::string::npos;
    EXPECT_EQ(row.is_for("f32"), !is_native_bf16 && !is_native_f16);
    EXPECT_EQ(row.is_for("f16"), !is_native_bf16);
    EXPECT_EQ(row.is_for("bf16"), !is_native_f16);
    EXPECT_FALSE(row.is_for("f64"));
  }
}

TEST(TargetTable, ChoiceByNameAndType) {
  const std::vector<std::string> widening = {"x86-sse41", "x86-avx2", "x86-avx512"};
  std::vector<std::string> all = widening;
  for (const char* name : {"x86-avx512-bf16-intel", "x86-avx512-bf16-amd"}) all.push_back(name);
  EXPECT_EQ(chosen({}, {"f32"}), widening);
  EXPECT_EQ(chosen({}, {"f32", "f16"}), widening);
  EXPECT_EQ(chosen({}, {"bf16"}), all);
  EXPECT_EQ(chosen({}, {"f32", "bf16"}), all);
  EXPECT_EQ(chosen({"x86-avx512-bf16-amd", "x86-avx2"}, {"f32", "bf16"}),
            (std::vector<std::string>{"x86-avx512-bf16-amd", "x86-avx2"}));
  EXPECT_EQ(refusal({"x86-avx2", "x86-avx512-bf16-intel"}, {"f32", "f16"}),
            "target 'x86-avx512-bf16-intel': allowed is only with dtype bf16, which is not among "
            "f32, f16");
  EXPECT_EQ(refusal({"x86-avx3"}, {"f32"}),
            "target 'x86-avx3': allowed is one of x86-sse41, x86-avx2, x86-avx512, "
            "x86-avx512-bf16-intel, x86-avx512-bf16-amd, arm64-neon, arm64-neon-fp16, opencl, "
            "cuda-sm70, cuda-sm80, cuda-sm86; did you mean 'x86-avx2'?");
}

TEST(TargetTable, ChoiceByArchitecture) {
  const std::vector<std::string> arm = {"arm64-neon"}, all_arm = {"arm64-neon", "arm64-neon-fp16"};
  EXPECT_EQ(chosen({}, {"f32", "bf16"}, "arm64"), arm);
  EXPECT_EQ(chosen({}, {"f32", "f16"}, "arm64"), all_arm);
  EXPECT_EQ(chosen({}, {"f32"}), chosen({}, {"f32"}, host_architecture()));
  EXPECT_EQ(chosen({"arm64-neon"}, {"f32"}), arm);
  EXPECT_EQ(refusal({"arm64-neon", "x86-avx2"}, {"f32"}),
            "target 'x86-avx2' is for x86: allowed are targets of one architecture, here arm64");
  EXPECT_EQ(refusal({"arm64-neon"}, {"f32"}, "x86"),
            "target 'arm64-neon' is for arm64: allowed are targets of one architecture, here x86");
  EXPECT_EQ(refusal({}, {"f32"}, "aarch64"),
            "architecture 'aarch64': allowed is one of x86, arm64");
}

TEST(TargetTable, HalideAcceptsTheStrings) {
  for (const TargetRow& row : target_table()) {
    EXPECT_TRUE(Halide::Target::validate_target_string(row.halide)) << row.halide;
    EXPECT_TRUE(kernel_target(row).supported()) << row.halide;
  }
}

}  // namespace
}  // namespace fovea
