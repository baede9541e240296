// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <inttypes.h>

#include "preference.h"
#include "prepare.h"

namespace fovea::detail {
namespace {

// ", x86-avx512-bf16-intel has 25 instead of 40 on …: the reason", where the preference of a
// kernel's target is an exception.
void append_exception(Text* text, const fovea_library_info& library,
                      const fovea_kernel_info& kernel, const Capabilities& capabilities) {
  const fovea_target_info& target = library.targets[kernel.target];
  const Preference preference = preference_of(target, kernel.dtype, capabilities.cpu_family);
  if (preference.reason == nullptr) return;
  text->append(", %s has %" PRId32 " instead of %" PRId32 " on %s: %s", target.name,
               preference.value, target.preference, cpu_family_name(capabilities.cpu_family),
               preference.reason);
}

// "pass decode: 3 of 7 sequences, at most 16 query rows"
void append_pass(Text* text, const Preparation& ready, fovea_pass pass) {
  text->append("pass %s: ", pass_name(pass));
  if (ready.problem.is_ragged()) {
    text->append("%" PRId64 " of %" PRId64 " sequences, ", ready.sequences[pass],
                 ready.problem.batch);
  }
  text->append("%s", ready.why[pass]);
}

void append_choice(Text* text, const fovea_library_info& library, const Preparation& ready,
                   const fovea_kernel_info& kernel) {
  const fovea_target_info& target = library.targets[kernel.target];
  const Capabilities& capabilities = ready.capabilities;
  text->append("chosen: %s (", kernel.name);
  if (capabilities.forced_target != nullptr) {
    text->append("%s forces %s", capabilities.forced_by, target.name);
  } else {
    text->append("%s is the usable target with the largest preference, %" PRId32, target.name,
                 preference_of(target, kernel.dtype, capabilities.cpu_family).value);
    append_exception(text, library, kernel, capabilities);
  }
  text->append("; ");
  append_pass(text, ready, kernel.pass);
  if (ready.problem.request.device != FOVEA_DEVICE_CPU) {
    text->append("; on %s%s)\n", capabilities.device.text,
                 ready.problem.exec.host_tensors != 0 ? ", tensors are copied" : "");
    return;
  }
  text->append("; up to %" PRId32 " threads, workspace %zu bytes)\n", ready.plan.workers,
               ready.plan.bytes);
}

// What a kernel would have to be: of the passes that the call runs in, its own.
Request request_for(const Preparation& ready, const fovea_kernel_info& kernel) {
  Request request = ready.problem.request;
  for (const fovea_kernel_info* chosen : ready.kernels) {
    if (chosen != nullptr && chosen->pass == kernel.pass) request.pass = kernel.pass;
  }
  return request;
}

// Of a kernel for a device that the call does not ask for: what there is of it on this machine.
void append_device(Text* text, const fovea_library_info& library, const fovea_kernel_info& kernel,
                   const Request& request) {
  const fovea_device device = device_of(library.targets[kernel.target].architecture);
  if (device == FOVEA_DEVICE_CPU || device == request.device) return;
  DeviceFacts facts;
  driver_of(device).describe(nullptr, nullptr, &facts);
  text->append("; here: %s", facts.text);
}

void append_candidate(Text* text, const fovea_library_info& library,
                      const fovea_kernel_info& kernel, const Preparation& ready) {
  text->append("%s: ", kernel.name);
  if (ready.problem.call.size == 0) {
    text->append("not considered, the call could not be read\n");
    return;
  }
  const Request request = request_for(ready, kernel);
  const bool usable = judge(library, kernel, request, ready.capabilities).refusal == Refusal::kNone;
  const fovea_kernel_info* chosen =
      kernel.pass < FOVEA_APPEND ? ready.kernels[kernel.pass] : nullptr;
  if (&kernel == chosen) {
    text->append("chosen\n");
  } else if (usable && chosen != nullptr) {
    text->append("usable, but %s has the larger preference", library.targets[chosen->target].name);
    append_exception(text, library, kernel, ready.capabilities);
    text->append("\n");
  } else if (usable) {
    text->append("usable\n");
  } else {
    text->append("refused, ");
    append_refusal(*text, library, kernel, request, ready.capabilities);
    append_device(text, library, kernel, request);
    text->append("\n");
  }
}

}  // namespace

fovea_status explain(const fovea_library_info* library, int32_t variant, const fovea_call* call,
                     const Capabilities& capabilities, int32_t default_threads, Text* text) {
  Preparation ready;
  fovea_status status = prepare(library, variant, call, capabilities, default_threads, &ready);
  if (status == FOVEA_OK) status = check_workspace(ready.problem, ready.plan.bytes);
  if (status != FOVEA_OK) {
    text->append("%s: %s\n", fovea_status_name(status), fovea_last_message());
  } else if (ready.problem.nothing_to_do) {
    text->append("ok: nothing to compute, the output has no elements\n");
  }
  for (const fovea_kernel_info* kernel : ready.kernels) {
    if (status == FOVEA_OK && kernel != nullptr) append_choice(text, *library, ready, *kernel);
  }
  // Of a library that was refused as a whole, nothing may be read.
  if (ready.problem.variant == nullptr) return status;
  for (int32_t i = 0; i < library->kernel_count; ++i) {
    if (library->kernels[i].variant == variant)
      append_candidate(text, *library, library->kernels[i], ready);
  }
  return status;
}

}  // namespace fovea::detail
