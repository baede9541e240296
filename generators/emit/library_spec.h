// library_spec.h: what a generated library consists of.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_LIBRARY_SPEC_H
#define FOVEA_GENERATORS_EMIT_LIBRARY_SPEC_H

#include <fovea/dsl/variant.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "generators/emit/compile_kernel.h"
#include "generators/emit/kernel_spec.h"
#include "generators/schedules/kernel_schedule.h"

namespace fovea {

// The request, as fovea_add_library passes it on.
struct LibraryRequest {
  std::string name;
  std::vector<std::string> variants;  // empty: all declared ones
  std::vector<std::string> targets;   // empty: all of the architecture that are for one dtype
  std::vector<std::string> dtypes;
  std::vector<std::string> head_dims;  // "64", "192/128"
  std::vector<std::string> passes;     // "append" is for caches only
  std::vector<std::string> caches = {"none"};
  std::string architecture = {};  // empty: of the targets, or of the machine that builds
  std::string schedule = {};  // parameters that differ from the default: "row_vectors=3,key_tile=8"
  std::vector<std::string> tuned = {};  // tuning files; what an earlier one holds wins
};

struct PlannedKernel {
  KernelSpec spec;
  size_t variant = 0;  // index into LibraryPlan::variants
  std::string
      symbol;  // kernel_symbol(), <library>__<kernel name>: two libraries of one program may hold
               // variants of one name. Kernels of the same code share that of the first one
  bool is_copy = false;  // an earlier kernel has this symbol, and the code
  KernelSchedule schedule;
  // "default", or the entry of a tuning file; with " and --schedule …" what takes its place.
  std::string schedule_from = "default";
  KernelFacts facts;  // known after compilation
};

std::string kernel_symbol(const std::string& library, const KernelSpec& spec);

// Everything that decides the code of a kernel except its symbol. Equal texts, equal code: what
// appends to caches is the same for all variants that do not transform keys and values.
std::string code_text(const PlannedKernel& kernel, const Variant& variant);

// The functions of a compiled kernel that the registry names, in its order.
std::vector<std::string> kernel_symbols(const PlannedKernel& kernel);

// Resolved request. The list of kernels here is the one list that registry, header, manifest and
// tests are made from.
struct LibraryPlan {
  std::string name;
  std::vector<Variant> variants;
  std::vector<const TargetRow*> targets;
  std::vector<PlannedKernel> kernels;
  std::vector<std::string> notes;  // lines and entries of tuning files that are not used, and why
};

// Whether a library has functions that append to caches.
bool has_caches(const LibraryPlan& plan);

// Throws std::invalid_argument naming the field, its value and what is allowed.
LibraryPlan plan_library(const LibraryRequest& request, std::vector<Variant> declared);

// Outputs besides the attention itself, in the order in which kernels take them.
struct NamedOutput {
  Output output;
  const char* name;        // of the field of fovea_call
  const char* enumerator;  // in fovea/registry.h
};
inline constexpr std::array named_outputs = {
    NamedOutput{Output::Lse, "lse", "FOVEA_OUTPUT_LSE"},
    NamedOutput{Output::RowMax, "row_max", "FOVEA_OUTPUT_ROW_MAX"},
    NamedOutput{Output::RowSum, "row_sum", "FOVEA_OUTPUT_ROW_SUM"},
    NamedOutput{Output::Probabilities, "probabilities", "FOVEA_OUTPUT_PROBABILITIES"},
};
std::vector<std::string> output_names(const Variant& variant);

// An axis in words: "B", "every query position", …
std::string axis_in_words(const Axis& axis);

// Texts of the generated files.
std::string c_header(const LibraryPlan& plan);
std::string cpp_header(const LibraryPlan& plan);
std::string registry_source(const LibraryPlan& plan);
std::string manifest(const LibraryPlan& plan);

// "32", "192/128" -> (d_qk, d_v)
std::pair<int, int> parse_head_dims(const std::string& text);

// 16 hexadecimal digits, as everywhere a variant hash is shown.
std::string hash_text(uint64_t hash);

}  // namespace fovea

#endif
