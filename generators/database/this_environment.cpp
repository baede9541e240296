// this_environment.cpp: what times of this machine and program depend on.
// SPDX-License-Identifier: Apache-2.0
#include <Halide.h>
#include <fmt/format.h>
#include <fovea/fovea.h>

#include <filesystem>

#include "bench/samples.h"
#include "generators/database/tuning_record.h"
#include "generators/emit/files.h"
#include "generators/emit/library_spec.h"
#include "runtime/src/cpu_detect.h"
#include "runtime/src/cpu_family.h"

namespace fovea {
namespace {

std::string feature_names(uint64_t features) {
  std::string text;
#define FOVEA_CPU_FEATURE(enumerator, bit, name, architecture) \
  if (features & (uint64_t{1} << (bit))) text += text.empty() ? name : " " name;
#include <fovea/cpu_features.def>
#undef FOVEA_CPU_FEATURE
  return text;
}

}  // namespace

TuningEnvironment this_environment() {
  return {detail::cpu_family_name(detail::cpu_family()),
          bench::cpu_name(),
          feature_names(detail::cpu_features()),
          fmt::format("{}.{}.{}", HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR, HALIDE_VERSION_PATCH),
          fmt::format("{}.{}.{}", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR, FOVEA_VERSION_PATCH),
          hash_text(hash_bytes(read_file(std::filesystem::read_symlink("/proc/self/exe"))))};
}

}  // namespace fovea
