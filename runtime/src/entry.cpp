// The entry points behind every generated function.
// SPDX-License-Identifier: Apache-2.0
#include "append.h"
#include "checks.h"
#include "explain.h"
#include "gpu/device_call.h"
#include "prepare.h"

using namespace fovea::detail;

extern "C" fovea_status fovea_variant_run(const fovea_library_info* library, int32_t variant,
                                          const fovea_call* call, const void* params) {
  clear_message();
  Preparation ready;
  fovea_status status =
      prepare(library, variant, call, present_capabilities(), fovea_default_threads(), &ready);
  if (status != FOVEA_OK) return status;
  const Outputs outputs =
      ready.problem.has_opencl_memory() ? Outputs() : outputs_of(ready.problem.call);
  status = check_parameters(ready.problem, outputs, params);
  if (status != FOVEA_OK) return status;
  status = check_workspace(ready.problem, ready.plan.bytes);
  if (status != FOVEA_OK || ready.problem.nothing_to_do) return status;
  if (ready.problem.request.device != FOVEA_DEVICE_CPU)
    return run_on_device(ready.problem, params, ready.kernels);
  return run_call(ready.problem, params, ready.kernels, ready.plan);
}

extern "C" fovea_status fovea_variant_append(const fovea_library_info* library, int32_t variant,
                                             const fovea_append* append, const void* params) {
  clear_message();
  return run_append(library, variant, append, params, present_capabilities(),
                    fovea_default_threads());
}

extern "C" size_t fovea_variant_workspace(const fovea_library_info* library, int32_t variant,
                                          const fovea_call* call) {
  clear_message();
  Preparation ready;
  const fovea_status status = prepare(library, variant, call, present_capabilities(),
                                      fovea_default_threads(), &ready, Question::kSize);
  return status == FOVEA_OK ? ready.plan.bytes : 0;
}

extern "C" fovea_status fovea_variant_explain(const fovea_library_info* library, int32_t variant,
                                              const fovea_call* call, char* text, size_t capacity) {
  clear_message();
  Text out(text, capacity);
  return explain(library, variant, call, present_capabilities(), fovea_default_threads(), &out);
}
