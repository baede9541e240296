// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <inttypes.h>
#include <string.h>

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
  if (has_limits(kernel)) {
    text->append("; its schedule is for ");
    append_limits(*text, kernel);
  }
  text->append("; ");
  append_pass(text, ready, kernel.pass);
  if (ready.problem.request.device != FOVEA_DEVICE_CPU) {
    text->append("; on %s%s", capabilities.device.text,
                 ready.problem.exec.host_tensors != 0 ? ", tensors are copied" : "");
    if (ready.plan.bytes > 0) text->append(", workspace %zu bytes", ready.plan.bytes);
    text->append(")\n");
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

// The kernel that the call takes for its pass; NULL: none.
const fovea_kernel_info* chosen_beside(const Preparation& ready, const fovea_kernel_info& kernel) {
  return kernel.pass < FOVEA_APPEND ? ready.kernels[kernel.pass] : nullptr;
}

bool could_be_read(const Preparation& ready) { return ready.problem.call.size != 0; }

Verdict verdict_on(const fovea_library_info& library, const fovea_kernel_info& kernel,
                   const Preparation& ready) {
  return judge(library, kernel, request_for(ready, kernel), ready.capabilities);
}

// Not even for this kind of call, on whatever machine.
bool is_of_another_kind(Refusal refusal) {
  return refusal == Refusal::kPass || refusal == Refusal::kDtype || refusal == Refusal::kCache ||
         refusal == Refusal::kHeadDims;
}

// A kernel that differs from the chosen one in its schedule alone.
bool is_other_schedule(const fovea_kernel_info& kernel, const fovea_kernel_info& chosen) {
  return kernel.target == chosen.target;
}

// Whether two kernels get the same answer in the same words.
bool same_answer(const fovea_library_info& library, const fovea_kernel_info& a,
                 const fovea_kernel_info& b, const Preparation& ready) {
  if (!could_be_read(ready)) return true;
  const Verdict va = verdict_on(library, a, ready);
  const Verdict vb = verdict_on(library, b, ready);
  if (va.refusal != vb.refusal || va.missing_features != vb.missing_features) return false;
  const fovea_target_info& ta = library.targets[a.target];
  const fovea_target_info& tb = library.targets[b.target];
  // What is said of a device as well.
  if (va.refusal != Refusal::kNone && device_of(ta.architecture) != device_of(tb.architecture))
    return false;
  const CpuFamily family = ready.capabilities.cpu_family;
  switch (va.refusal) {
    case Refusal::kNone: {
      const bool is_chosen = &a == chosen_beside(ready, a);
      if (is_chosen != (&b == chosen_beside(ready, b))) return false;
      if (chosen_beside(ready, a) != chosen_beside(ready, b)) return is_chosen;
      const fovea_kernel_info* chosen = chosen_beside(ready, a);
      if (chosen != nullptr && is_other_schedule(a, *chosen) != is_other_schedule(b, *chosen))
        return false;
      const bool has_reason = preference_of(ta, a.dtype, family).reason != nullptr ||
                              preference_of(tb, b.dtype, family).reason != nullptr;
      return !has_reason || (a.target == b.target && a.dtype == b.dtype);
    }
    case Refusal::kPass:
      return a.pass == b.pass && request_for(ready, a).pass == request_for(ready, b).pass;
    case Refusal::kDtype:
      return a.dtype == b.dtype;
    case Refusal::kCache:
      return a.cache == b.cache;
    case Refusal::kHeadDims:
      return a.d_qk == b.d_qk && a.d_v == b.d_v;
    case Refusal::kShape:
      return a.most_rows == b.most_rows && a.most_keys == b.most_keys;
    case Refusal::kArchitecture:
    case Refusal::kDevice:
    case Refusal::kNoDevice:
      return strcmp(ta.architecture, tb.architecture) == 0;
    default:
      return true;
  }
}

void append_answer(Text* text, const fovea_library_info& library, const fovea_kernel_info& kernel,
                   const Preparation& ready) {
  if (!could_be_read(ready)) {
    text->append("not considered, the call could not be read");
    return;
  }
  const fovea_kernel_info* chosen = chosen_beside(ready, kernel);
  if (&kernel == chosen) {
    text->append("chosen, once the call is right");
  } else if (verdict_on(library, kernel, ready).refusal != Refusal::kNone) {
    text->append("refused, ");
    append_refusal(*text, library, kernel, request_for(ready, kernel), ready.capabilities);
    append_device(text, library, kernel, request_for(ready, kernel));
  } else if (chosen != nullptr && is_other_schedule(kernel, *chosen)) {
    text->append("usable, but there is a schedule for calls of ");
    append_limits(*text, *chosen);
  } else if (chosen != nullptr) {
    text->append("usable, but %s has the larger preference", library.targets[chosen->target].name);
    append_exception(text, library, kernel, ready.capabilities);
  } else {
    text->append("usable");
  }
}

// Each answer once, over the kernels that get it. Kernels of the chosen ones' kind come first.
void append_candidates(Text* text, const fovea_library_info& library, int32_t variant,
                       const Preparation& ready, bool of_another_kind, bool without_chosen) {
  const auto is_listed = [&](const fovea_kernel_info& kernel) {
    if (kernel.variant != variant) return false;
    if (without_chosen && &kernel == chosen_beside(ready, kernel)) return false;
    const bool other =
        could_be_read(ready) && is_of_another_kind(verdict_on(library, kernel, ready).refusal);
    return other == of_another_kind;
  };
  for (int32_t i = 0; i < library.kernel_count; ++i) {
    const fovea_kernel_info& first = library.kernels[i];
    if (!is_listed(first)) continue;
    bool answered = false;
    for (int32_t j = 0; j < i && !answered; ++j) {
      answered =
          is_listed(library.kernels[j]) && same_answer(library, library.kernels[j], first, ready);
    }
    if (answered) continue;
    append_answer(text, library, first, ready);
    text->append(":\n");
    for (int32_t j = i; j < library.kernel_count; ++j) {
      const fovea_kernel_info& kernel = library.kernels[j];
      if (is_listed(kernel) && same_answer(library, first, kernel, ready))
        text->append("  %s\n", kernel.name);
    }
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
  const bool said_which = status == FOVEA_OK;
  append_candidates(text, *library, variant, ready, false, said_which);
  append_candidates(text, *library, variant, ready, true, said_which);
  return status;
}

}  // namespace fovea::detail
