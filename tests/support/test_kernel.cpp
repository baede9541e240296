// SPDX-License-Identifier: Apache-2.0
#include "test_kernel.h"

#include <fovea/dsl/half_precision.h>
#include <fovea/dsl/register.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <ostream>
#include <stdexcept>

#include "runtime/src/gpu/device.h"

namespace fovea::test {
namespace {

std::atomic<int64_t> cases{0};

struct Feature {
  uint64_t mask;
  const char* name;
};
constexpr Feature features[] = {
#define FOVEA_CPU_FEATURE(enumerator, bit, name, architecture) {FOVEA_CPU_MASK(enumerator), name},
#include <fovea/cpu_features.def>
#undef FOVEA_CPU_FEATURE
};

// Tests ask for the declaration once per row; its hash is that of a long text.
struct Declared {
  Variant variant;
  uint64_t hash = 0;
};

}  // namespace

const Variant& TestKernel::declaration() const {
  static const std::map<std::string, Declared> declared = [] {
    std::map<std::string, Declared> by_name;
    for (const Variant& v : declared_variants()) by_name.emplace(v.name(), Declared{v, v.hash()});
    return by_name;
  }();
  const auto found = declared.find(variant_name());
  if (found == declared.end())
    throw std::logic_error("the test program lacks the declaration of " + variant_name());
  if (found->second.hash != variant().hash)
    throw std::logic_error("stale kernels of " + variant_name());
  return found->second.variant;
}

uint32_t TestKernel::outputs() const {
  return variant().outputs & ~(decodes() || on_device() ? uint32_t{FOVEA_OUTPUT_PROBABILITIES} : 0);
}

bool TestKernel::on_device() const {
  return detail::device_of(target().architecture) != FOVEA_DEVICE_CPU;
}

double TestKernel::rounding(double size) const {
  if (dtype() == FOVEA_F32) return 0;
  return 3 * unit_roundoff(dtype()) * std::max(std::abs(size), smallest_normal(dtype()));
}

bool TestKernel::multiplies_bf16() const {
  return dtype() == FOVEA_BF16 && std::string(target().name).find("bf16") != std::string::npos;
}

bool TestKernel::has_score_steps() const { return !declaration().score_steps().empty(); }

std::vector<TestKernel> kernels_where(const std::function<bool(const TestKernel&)>& wanted) {
  std::vector<TestKernel> result;
  for (const fovea_library_info* library : tested_libraries()) {
    for (int32_t i = 0; i < library->kernel_count; ++i) {
      if (wanted({library, i})) result.push_back({library, i});
    }
  }
  return result;
}

std::vector<TestKernel> all_kernels() {
  return kernels_where([](const TestKernel&) { return true; });
}

std::vector<TestKernel> kernels_of(const std::string& variant, int d_qk, int d_v) {
  return kernels_where([&](const TestKernel& k) {
    return k.variant_name() == variant && k.info().d_qk == d_qk && k.info().d_v == d_v;
  });
}

std::vector<TestKernel> kernels_of(const std::string& variant) {
  return kernels_where([&](const TestKernel& k) { return k.variant_name() == variant; });
}

std::string why_not_runnable(const fovea_target_info& target) {
  if (const fovea_device device = detail::device_of(target.architecture);
      device != FOVEA_DEVICE_CPU) {
    detail::DeviceFacts facts = {};
    detail::driver_of(device).describe(nullptr, nullptr, &facts);
    const bool fits = facts.is_usable && (target.needed_features & ~facts.features) == 0;
    return fits ? "" : std::string(target.name) + " cannot run here: " + facts.text;
  }
  std::string available(1024, '\0');
  available.resize(fovea_cpu_features(available.data(), available.size()));
  available = "," + available + ",";
  std::string missing;
  for (const Feature& feature : features) {
    if ((target.needed_features & feature.mask) == 0) continue;
    if (available.find("," + std::string(feature.name) + ",") == std::string::npos) {
      missing += std::string(" ") + feature.name;
    }
  }
  return missing.empty() ? "" : std::string(target.name) + " needs" + missing;
}

std::string test_name(const testing::TestParamInfo<TestKernel>& info) {
  std::string name = info.param.info().name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

void PrintTo(const TestKernel& kernel, std::ostream* out) { *out << kernel.info().name; }

void count_case(int64_t count) { cases += count; }
int64_t counted_cases() { return cases; }

}  // namespace fovea::test
