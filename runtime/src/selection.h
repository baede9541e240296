// The choice of a kernel: a pure function of the request and of what may be used, with a reason for
// every refusal. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_SELECTION_H
#define FOVEA_SELECTION_H

#include <fovea/registry.h>

#include "cpu_family.h"
#include "gpu/device.h"
#include "message.h"

namespace fovea::detail {

struct Request {
  int32_t variant;
  fovea_pass pass;
  fovea_dtype dtype;
  fovea_cache_kind cache;
  int64_t d_qk, d_v;
  fovea_device device = FOVEA_DEVICE_CPU;  // where tensors are
  int64_t q_rows = 0, kv_rows = 0;         // of the longest sequence
};

// All that a choice depends on besides the request. Tests make their own.
struct Capabilities {
  const char* architecture;
  uint64_t cpu_features;
  CpuFamily cpu_family;
  uint64_t enabled_targets;
  const char* forced_target;  // NULL: none
  const char* forced_by;      // the field or variable that named it
  // Of the device that the request asks for; not known of others.
  DeviceFacts device = {};
};

enum class Refusal {
  kNone,
  kPass,
  kDtype,
  kCache,
  kHeadDims,
  kNotForced,
  kDisabled,
  kDevice,  // another one than the call's
  kNoDevice,
  kArchitecture,
  kCpu,
  kShape
};

struct Verdict {
  Refusal refusal;
  uint64_t missing_features;  // for kCpu
};

constexpr int32_t kNoKernel = -1;

Verdict judge(const fovea_library_info& library, const fovea_kernel_info& kernel,
              const Request& request, const Capabilities& capabilities);

// Index of the usable kernel of that variant whose target has the largest preference on this CPU
// family (the first of equals: one with limits before one without), or kNoKernel.
int32_t select_kernel(const fovea_library_info& library, const Request& request,
                      const Capabilities& capabilities);

// "CPU lacks avx512f, avx512bw", …
void append_refusal(Text& text, const fovea_library_info& library, const fovea_kernel_info& kernel,
                    const Request& request, const Capabilities& capabilities);

// Whether it is for some calls only; and "at most 400 query rows and 400 keys".
inline bool has_limits(const fovea_kernel_info& kernel) {
  return kernel.most_rows > 0 || kernel.most_keys > 0;
}
void append_limits(Text& text, const fovea_kernel_info& kernel);

// Sets this thread's message to why no kernel serves the request; returns FOVEA_UNSUPPORTED.
fovea_status fail_without_kernel(const fovea_library_info& library, const Request& request,
                                 const Capabilities& capabilities);

const char* pass_name(fovea_pass pass);
int32_t pass_from_name(const char* name);  // of those that a call may ask for; -1: none of them
void append_pass_names(Text& text);

// As CACHES of fovea_add_library has it.
const char* cache_name(fovea_cache_kind cache);
inline bool is_quantised(fovea_cache_kind cache) {
  return cache != FOVEA_CACHE_NONE && cache != FOVEA_CACHE_SAME;
}

}  // namespace fovea::detail
#endif
