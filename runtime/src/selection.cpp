// SPDX-License-Identifier: Apache-2.0
#include "selection.h"

#include <inttypes.h>
#include <string.h>

#include "cpu_detect.h"
#include "preference.h"
#include "targets.h"

namespace fovea::detail {
namespace {

// Indexed by fovea_pass and fovea_cache_kind.
constexpr const char* kPassNames[] = {"prefill", "decode", "append"};
constexpr const char* kCacheNames[] = {"none", "same", "int8", "int4", "e4m3", "e5m2"};
constexpr int32_t kPassCount = static_cast<int32_t>(sizeof(kPassNames) / sizeof(kPassNames[0]));
constexpr int32_t kCacheCount = static_cast<int32_t>(sizeof(kCacheNames) / sizeof(kCacheNames[0]));
constexpr int32_t kCallPassCount = 2;  // the first ones: those that exec.pass may name

// How many of the request's properties a kernel of its variant and pass has, in the order in which
// they are looked at: a message names the first that no kernel has.
enum Depth { kNoDtype, kNoCache, kNoDims, kNoTarget, kComplete };

Depth depth_of(const fovea_library_info& library, const fovea_kernel_info& kernel,
               const Request& request, const Capabilities& capabilities) {
  if (kernel.dtype != request.dtype) return kNoDtype;
  if (kernel.cache != request.cache) return kNoCache;
  if (kernel.d_qk != request.d_qk || kernel.d_v != request.d_v) return kNoDims;
  const char* forced = capabilities.forced_target;
  const bool is_forced =
      forced == nullptr || strcmp(library.targets[kernel.target].name, forced) == 0;
  return is_forced ? kComplete : kNoTarget;
}

// Whether two kernels have the same value of the property that a message is about.
bool same_property(const fovea_kernel_info& a, const fovea_kernel_info& b, Depth depth) {
  if (depth == kNoDtype) return a.dtype == b.dtype;
  if (depth == kNoCache) return a.cache == b.cache;
  return depth == kNoDims && a.d_qk == b.d_qk && a.d_v == b.d_v;
}

// Of the keys in the cache.
fovea_dtype dtype_of(const Request& request) {
  constexpr fovea_dtype kDtypes[] = {FOVEA_I8, FOVEA_I4, FOVEA_E4M3, FOVEA_E5M2};
  static_assert(FOVEA_CACHE_I8 == 2 && FOVEA_CACHE_E5M2 == 5);
  return is_quantised(request.cache) ? kDtypes[request.cache - FOVEA_CACHE_I8] : request.dtype;
}

bool is_candidate(const fovea_kernel_info& kernel, const Request& request) {
  return kernel.variant == request.variant && kernel.pass == request.pass;
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
  for (int32_t i = 0; i < kCallPassCount; ++i) {
    if (strcmp(kPassNames[i], name) == 0) return i;
  }
  return -1;
}

void append_pass_names(Text& text) {
  for (int32_t i = 0; i < kCallPassCount; ++i)
    text.append("%s%s", i == 0 ? "" : ", ", kPassNames[i]);
}

const char* cache_name(fovea_cache_kind cache) {
  const auto index = static_cast<int32_t>(cache);
  return index >= 0 && index < kCacheCount ? kCacheNames[index] : "unknown";
}

Verdict judge(const fovea_library_info& library, const fovea_kernel_info& kernel,
              const Request& request, const Capabilities& capabilities) {
  const fovea_target_info& target = library.targets[kernel.target];
  if (kernel.pass != request.pass) return {Refusal::kPass, 0};
  if (kernel.dtype != request.dtype) return {Refusal::kDtype, 0};
  if (kernel.cache != request.cache) return {Refusal::kCache, 0};
  if (kernel.d_qk != request.d_qk || kernel.d_v != request.d_v) return {Refusal::kHeadDims, 0};
  if (capabilities.forced_target != nullptr &&
      strcmp(capabilities.forced_target, target.name) != 0) {
    return {Refusal::kNotForced, 0};
  }
  if (!target_enabled(capabilities.enabled_targets, target.name)) return {Refusal::kDisabled, 0};
  const fovea_device device = device_of(target.architecture);
  if (device != request.device) return {Refusal::kDevice, 0};
  if (device != FOVEA_DEVICE_CPU) {
    if (!capabilities.device.is_usable) return {Refusal::kNoDevice, 0};
    const uint64_t missing = target.needed_features & ~capabilities.device.features;
    return {missing != 0 ? Refusal::kCpu : Refusal::kNone, missing};
  }
  // Features of different architectures share one word, so an empty set of needs must not pass
  // everywhere.
  if (strcmp(target.architecture, capabilities.architecture) != 0)
    return {Refusal::kArchitecture, 0};
  const uint64_t missing = target.needed_features & ~capabilities.cpu_features;
  if (missing != 0) return {Refusal::kCpu, missing};
  const bool rows_fit = kernel.most_rows == 0 || request.q_rows <= kernel.most_rows;
  const bool keys_fit = kernel.most_keys == 0 || request.kv_rows <= kernel.most_keys;
  return {rows_fit && keys_fit ? Refusal::kNone : Refusal::kShape, 0};
}

void append_limits(Text& text, const fovea_kernel_info& kernel) {
  text.append("at most ");
  if (kernel.most_rows > 0) text.append("%" PRId32 " query rows", kernel.most_rows);
  if (kernel.most_rows > 0 && kernel.most_keys > 0) text.append(" and ");
  if (kernel.most_keys > 0) text.append("%" PRId32 " keys", kernel.most_keys);
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
    case Refusal::kCache:
      text.append("reads cache %s, not %s", cache_name(kernel.cache), cache_name(request.cache));
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
    case Refusal::kDevice: {
      const fovea_device device = device_of(library.targets[kernel.target].architecture);
      text.append("computes on device %s, exec.device is %s", device_name(device),
                  device_name(request.device));
      break;
    }
    case Refusal::kNoDevice:
      text.append("%s", capabilities.device.text);
      break;
    case Refusal::kCpu:
      if (request.device == FOVEA_DEVICE_CPU) {
        text.append("CPU lacks ");
      } else {
        text.append("the device (%s) lacks ", capabilities.device.text);
      }
      append_feature_names(text, verdict.missing_features, ", ");
      break;
    case Refusal::kShape:
      text.append("is for calls of ");
      append_limits(text, kernel);
      break;
  }
}

fovea_status fail_without_kernel(const fovea_library_info& library, const Request& request,
                                 const Capabilities& capabilities) {
  const char* variant = library.variants[request.variant].name;
  const bool appends = request.pass == FOVEA_APPEND;
  const int32_t first = first_kernel_of(library, request.variant);
  Depth deepest = kNoDtype;
  for (int32_t i = first; i < library.kernel_count; ++i) {
    if (!is_candidate(library.kernels[i], request)) continue;
    const Depth depth = depth_of(library, library.kernels[i], request, capabilities);
    if (depth > deepest) deepest = depth;
  }

  Text text = message_text();
  switch (deepest) {
    case kNoDtype:
      text.append("%s.dtype = %s: not built for variant %s, pass %s, in library %s; built:",
                  appends ? "k_new" : "q", dtype_name(request.dtype), variant,
                  pass_name(request.pass), library.name);
      break;
    case kNoCache:
      if (request.cache == FOVEA_CACHE_NONE) {
        text.append("cache is NULL");
      } else {
        text.append("k.dtype = %s (cache %s)", dtype_name(dtype_of(request)),
                    cache_name(request.cache));
      }
      text.append(": not built for variant %s, pass %s, %s, in library %s", variant,
                  pass_name(request.pass), dtype_name(request.dtype), library.name);
      if (request.cache != FOVEA_CACHE_NONE) {
        text.append(" (CACHES %s of fovea_add_library builds it)", cache_name(request.cache));
      }
      text.append("; built for caches:");
      break;
    case kNoDims:
      text.append("%s.extent[3] = %" PRId64 ", %s.extent[3] = %" PRId64
                  ": head dims not built for variant %s, %s, in library %s; built:",
                  appends ? "k_new" : "q", request.d_qk, appends ? "v_new" : "v", request.d_v,
                  variant, dtype_name(request.dtype), library.name);
      break;
    case kNoTarget:
      text.append("%s = \"%.64s\": not compiled into library %s for variant %s; built:",
                  capabilities.forced_by, capabilities.forced_target, library.name, variant);
      break;
    case kComplete:
      if (capabilities.forced_target != nullptr) {
        text.append("%s = \"%.64s\": ", capabilities.forced_by, capabilities.forced_target);
      }
      text.append("no kernel of variant %s can run here:", variant);
      break;
  }
  const char* before = " ";
  for (int32_t i = first; i < library.kernel_count; ++i) {
    const fovea_kernel_info& kernel = library.kernels[i];
    if (!is_candidate(kernel, request)) continue;
    // Of kernels that have all that this message is not about.
    const Depth depth = depth_of(library, kernel, request, capabilities);
    if (depth < (deepest == kComplete ? kNoTarget : deepest)) continue;
    bool listed = false;
    for (int32_t j = first; j < i && !listed; ++j) {
      const fovea_kernel_info& other = library.kernels[j];
      listed = is_candidate(other, request) && same_property(other, kernel, deepest) &&
               depth_of(library, other, request, capabilities) >= deepest;
    }
    if (listed) continue;
    text.append("%s", before);
    before = deepest == kComplete ? "; " : ", ";
    switch (deepest) {
      case kNoDtype:
        text.append("%s", dtype_name(kernel.dtype));
        break;
      case kNoCache:
        text.append("%s", cache_name(kernel.cache));
        break;
      case kNoDims:
        text.append("%" PRId32 "/%" PRId32, kernel.d_qk, kernel.d_v);
        break;
      case kNoTarget:
        text.append("%s", library.targets[kernel.target].name);
        break;
      case kComplete:
        text.append("%s: ", library.targets[kernel.target].name);
        append_refusal(text, library, kernel, request, capabilities);
        break;
    }
  }
  if (before[0] == ' ') text.append(" nothing");
  return FOVEA_UNSUPPORTED;
}

}  // namespace fovea::detail
