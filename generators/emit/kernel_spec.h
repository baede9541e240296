// kernel_spec.h: which kernel: everything that decides its code, and its name.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_GENERATORS_EMIT_KERNEL_SPEC_H
#define FOVEA_GENERATORS_EMIT_KERNEL_SPEC_H

#include <optional>
#include <string>

namespace fovea {

// Names as a user writes them, so that one grammar serves symbols, listings, tests and the tuning
// database.
struct KernelSpec {
  std::string pass;     // "prefill", "decode", "append"
  std::string variant;  // "causal"
  std::string dtype;    // "f32"
  int d_qk = 0, d_v = 0;
  std::string target;          // "x86-avx2"
  std::string cache = "none";  // what k and v are: "same", "int8"
  // The longest sequences of the calls that its schedule is for; 0: any.
  int most_rows = 0, most_keys = 0;

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

// fovea_<pass>__<variant>__<dtype>__d<dims>__<target>, dims "64" or "192x128", dashes of the target
// as underscores: fovea_prefill__causal__f32__d64__x86_avx2. A cache stands after the dtype:
// fovea_decode__causal__f32__cache_int8__d64__x86_avx2; limits stand at the end, …__q400_k400 or
// …__k1000. A C identifier; parse_kernel_name is its inverse.
std::string kernel_name(const KernelSpec& spec);
std::optional<KernelSpec> parse_kernel_name(const std::string& name);

// The same kernel for calls of every shape.
KernelSpec without_limits(KernelSpec spec);

}  // namespace fovea

#endif
