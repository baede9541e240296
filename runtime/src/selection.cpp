// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <inttypes.h>
#include <string.h>

#include "cpu_detect.h"
#include "preference.h"
#include "targets.h"

namespace fovea::detail {
namespace {

constexpr const char* kPassNames[] = {"prefill", "decode"};  // indexed by fovea_pass
constexpr int32_t kPassCount = static_cast<int32_t>(sizeof(kPassNames) / sizeof(kPassNames[0]));

bool fits_dtype(const fovea_kernel_info& kernel, const Request& request) {
  return kernel.pass == request.pass && kernel.dtype == request.dtype;
}

// Whether an earlier kernel of the variant has the same type and head dims: lists of what was built
// name each once.
bool listed_before(const fovea_library_info& library, int32_t index, bool compare_dims) {
  const fovea_kernel_info& kernel = library.kernels[index];
  for (int32_t i = 0; i < index; ++i) {
    const fovea_kernel_info& other = library.kernels[i];
    if (other.variant != kernel.variant || other.pass != kernel.pass || other.dtype != kernel.dtype)
      continue;
    if (!compare_dims || (other.d_qk == kernel.d_qk && other.d_v == kernel.d_v)) return true;
  }
  return false;
}

// Libraries with every variant have thousands of kernels, of which a short call must not see all.
int32_t first_kernel_of(const fovea_library_info& library, int32_t variant) {
  int32_t begin = 0;
  int32_t end = library.kernel_count;
  while (begin < end) {
    const int32_t middle = begin + (end - begin) / 2;
    if (library.kernels[middle].variant < variant) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace

const char* pass_name(fovea_pass pass) {
  const auto index = static_cast<int32_t>(pass);
  return index >= 0 && index < kPassCount ? kPassNames[index] : "unknown";
}

int32_t pass_from_name(const char* name) {
  for (int32_t i = 0; i < kPassCount; ++i) {
    if (strcmp(kPassNames[i], name) == 0) return i;
  }
  return -1;
}

void append_pass_names(Text& text) {
  for (int32_t i = 0; i < kPassCount; ++i) text.append("%s%s", i == 0 ? "" : ", ", kPassNames[i]);
}

Verdict judge(const fovea_library_info& library, const fovea_kernel_info& kernel,
              const Request& request, const Capabilities& capabilities) {
  const fovea_target_info& target = library.targets[kernel.target];
  if (kernel.pass != request.pass) return {Refusal::kPass, 0};
  if (kernel.dtype != request.dtype) return {Refusal::kDtype, 0};
  if (kernel.d_qk != request.d_qk || kernel.d_v != request.d_v) return {Refusal::kHeadDims, 0};
  if (capabilities.forced_target != nullptr &&
      strcmp(capabilities.forced_target, target.name) != 0) {
    return {Refusal::kNotForced, 0};
  }
  if (!target_enabled(capabilities.enabled_targets, target.name)) return {Refusal::kDisabled, 0};
  // Features of different architectures share one word, so an empty set of needs must not pass
  // everywhere.
  if (strcmp(target.architecture, capabilities.architecture) != 0)
    return {Refusal::kArchitecture, 0};
  const uint64_t missing = target.needed_features & ~capabilities.cpu_features;
  if (missing != 0) return {Refusal::kCpu, missing};
  return {Refusal::kNone, 0};
}

int32_t select_kernel(const fovea_library_info& library, const Request& request,
                      const Capabilities& capabilities) {
  int32_t best = kNoKernel;
  int32_t best_preference = 0;
  for (int32_t i = first_kernel_of(library, request.variant);
       i < library.kernel_count && library.kernels[i].variant == request.variant; ++i) {
    const fovea_kernel_info& kernel = library.kernels[i];
    if (judge(library, kernel, request, capabilities).refusal != Refusal::kNone) continue;
    const int32_t preference =
        preference_of(library.targets[kernel.target], kernel.dtype, capabilities.cpu_family).value;
    if (best != kNoKernel && preference <= best_preference) continue;
    best = i;
    best_preference = preference;
  }
  return best;
}

void append_refusal(Text& text, const fovea_library_info& library, const fovea_kernel_info& kernel,
                    const Request& request, const Capabilities& capabilities) {
  const Verdict verdict = judge(library, kernel, request, capabilities);
  switch (verdict.refusal) {
    case Refusal::kNone:
      text.append("usable");
      break;
    case Refusal::kPass:
      text.append("computes pass %s, not %s", pass_name(kernel.pass), pass_name(request.pass));
      break;
    case Refusal::kDtype:
      text.append("computes dtype %s, not %s", dtype_name(kernel.dtype), dtype_name(request.dtype));
      break;
    case Refusal::kHeadDims:
      text.append("has head dims %" PRId32 "/%" PRId32 ", not %" PRId64 "/%" PRId64, kernel.d_qk,
                  kernel.d_v, request.d_qk, request.d_v);
      break;
    case Refusal::kNotForced:
      text.append("not the target that %s forces (%.64s)", capabilities.forced_by,
                  capabilities.forced_target);
      break;
    case Refusal::kDisabled:
      text.append("disabled by fovea_set_enabled_targets");
      break;
    case Refusal::kArchitecture:
      text.append("is for %s, this machine is %s", library.targets[kernel.target].architecture,
                  capabilities.architecture);
      break;
    case Refusal::kCpu:
      text.append("CPU lacks ");
      append_feature_names(text, verdict.missing_features, ", ");
      break;
  }
}

fovea_status fail_without_kernel(const fovea_library_info& library, const Request& request,
                                 const Capabilities& capabilities) {
  const char* variant = library.variants[request.variant].name;
  bool dtype_built = false;
  bool dims_built = false;
  bool target_built = capabilities.forced_target == nullptr;
  for (int32_t i = 0; i < library.kernel_count; ++i) {
    const fovea_kernel_info& kernel = library.kernels[i];
    if (kernel.variant != request.variant || !fits_dtype(kernel, request)) continue;
    dtype_built = true;
    if (kernel.d_qk != request.d_qk || kernel.d_v != request.d_v) continue;
    dims_built = true;
    if (!target_built)
      target_built = strcmp(library.targets[kernel.target].name, capabilities.forced_target) == 0;
  }

  Text text = message_text();
  if (!dtype_built) {
    text.append("q.dtype = %s: not built for variant %s, pass %s, in library %s; built:",
                dtype_name(request.dtype), variant, pass_name(request.pass), library.name);
  } else if (!dims_built) {
    text.append("q.extent[3] = %" PRId64 ", v.extent[3] = %" PRId64
                ": head dims not built for variant %s, %s, in library %s; built:",
                request.d_qk, request.d_v, variant, dtype_name(request.dtype), library.name);
  } else if (!target_built) {
    text.append("%s = \"%.64s\": not compiled into library %s for variant %s; built:",
                capabilities.forced_by, capabilities.forced_target, library.name, variant);
  } else {
    if (capabilities.forced_target != nullptr) {
      text.append("%s = \"%.64s\": ", capabilities.forced_by, capabilities.forced_target);
    }
    text.append("no kernel of variant %s can run here:", variant);
  }
  const char* before = " ";
  for (int32_t i = 0; i < library.kernel_count; ++i) {
    const fovea_kernel_info& kernel = library.kernels[i];
    if (kernel.variant != request.variant || kernel.pass != request.pass) continue;
    if (!dtype_built) {
      if (listed_before(library, i, false)) continue;
      text.append("%s%s", before, dtype_name(kernel.dtype));
    } else if (!dims_built) {
      if (kernel.dtype != request.dtype || listed_before(library, i, true)) continue;
      text.append("%s%" PRId32 "/%" PRId32, before, kernel.d_qk, kernel.d_v);
    } else if (kernel.dtype != request.dtype || kernel.d_qk != request.d_qk ||
               kernel.d_v != request.d_v) {
      continue;
    } else if (!target_built) {
      text.append("%s%s", before, library.targets[kernel.target].name);
    } else {
      text.append("%s%s: ", before, library.targets[kernel.target].name);
      append_refusal(text, library, kernel, request, capabilities);
      before = "; ";
      continue;
    }
    before = ", ";
  }
  if (before[0] == ' ') text.append(" nothing");
  return FOVEA_UNSUPPORTED;
}

}  // namespace fovea::detail
