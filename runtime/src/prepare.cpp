// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <limits.h>
#include <stdlib.h>

#include <initializer_list>

#include "cpu_detect.h"
#include "cpu_family.h"
#include "decode.h"
#include "gpu/device_call.h"
#include "targets.h"

namespace fovea::detail {

Capabilities present_capabilities() {
  const char* forced = getenv("FOVEA_TARGET");
  if (forced != nullptr && forced[0] == '\0') forced = nullptr;
  return {cpu_architecture(),
          cpu_features(),
          cpu_family(),
          enabled_targets(),
          forced,
          "FOVEA_TARGET",
          {}};
}

namespace {

bool wants_probabilities(const Problem& problem) {
  return problem.call.probabilities.data != nullptr;
}

// Decode kernels step from head to head of q in 32 bits.
bool heads_are_near(const Problem& problem) {
  const fovea_tensor& q = problem.call.q;
  return q.extent[1] <= 1 || (q.stride[1] >= INT32_MIN && q.stride[1] <= INT32_MAX);
}

// Of a device, whose memory nobody takes behind the caller's back.
bool lacks_memory(const Problem& problem) {
  return problem.request.device != FOVEA_DEVICE_CPU && problem.exec.host_tensors == 0 &&
         problem.call.workspace == nullptr;
}

fovea_status check_forced_decode(const Problem& problem, Question question) {
  if (wants_probabilities(problem)) {
    return fail(FOVEA_UNSUPPORTED,
                "probabilities.data = %p: must be NULL, pass decode, which exec.pass forces, does "
                "not return them; prefill does",
                problem.call.probabilities.data);
  }
  if (!heads_are_near(problem)) {
    return fail(FOVEA_UNSUPPORTED,
                "q.stride[1] = %lld: supported by pass decode: head strides of %d to %d elements",
                static_cast<long long>(problem.call.q.stride[1]), INT32_MIN, INT32_MAX);
  }
  if (lacks_memory(problem) && question != Question::kSize) {
    return fail(
        FOVEA_INVALID_ARGUMENT,
        "workspace is NULL: pass decode, which exec.pass forces, needs memory of the device "
        "there, as much as %s_workspace says",
        problem.variant->name);
  }
  return FOVEA_OK;
}

// Why sequences of few rows cannot run in decode, NULL: they can.
const char* why_not_decode(const Problem& problem, Question question) {
  if (wants_probabilities(problem)) return "decode does not return probabilities";
  if (!heads_are_near(problem)) return "the head stride of q is beyond 32 bits, which decode needs";
  if (lacks_memory(problem) && question != Question::kSize)
    return "decode needs a workspace in memory of the device, workspace is NULL";
  return nullptr;
}

// Of the sequences with rows, those that are short enough for decode and the others. Without ragged
// the shape of the call speaks for all its sequences.
struct Counts {
  int64_t few_rows, many_rows;
};
Counts count_sequences(const Problem& problem) {
  if (!problem.is_ragged()) {
    const bool few = problem.q_rows <= kDecodeRows;
    return {few ? problem.batch : 0, few ? 0 : problem.batch};
  }
  Counts counts = {0, 0};
  for (int64_t b = 0; b < problem.batch; ++b) {
    const int32_t rows = rows_of(problem, b);
    if (rows > 0) ++(rows <= kDecodeRows ? counts.few_rows : counts.many_rows);
  }
  return counts;
}

// The kernel for the sequences of a pass, NULL: there is none.
const fovea_kernel_info* find_kernel(const fovea_library_info& library, fovea_pass pass,
                                     Preparation* ready) {
  ready->problem.request.pass = pass;
  ready->problem.request.q_rows = ready->problem.q_rows;
  ready->problem.request.kv_rows = ready->problem.kv_rows;
  const int32_t index = select_kernel(library, ready->problem.request, ready->capabilities);
  return index == kNoKernel ? nullptr : &library.kernels[index];
}

// Settles which sequences run in which pass, and looks for the kernels.
fovea_status choose_kernels(const fovea_library_info& library, Question question,
                            Preparation* ready) {
  Problem* problem = &ready->problem;
  const Counts counts = count_sequences(*problem);
  const bool forced = problem->exec.pass != nullptr;
  int64_t in_decode = forced ? 0 : counts.few_rows;
  const char* why_decode = "at most 16 query rows";
  const char* why_prefill = "more than 16 query rows";
  static_assert(kDecodeRows == 16, "said in the lines above");
  if (forced) {
    why_decode = why_prefill = "exec.pass forces it";
    if (problem->request.pass == FOVEA_DECODE) {
      const fovea_status status = check_forced_decode(*problem, question);
      if (status != FOVEA_OK) return status;
      in_decode = counts.few_rows + counts.many_rows;
    }
  } else if (in_decode > 0 && why_not_decode(*problem, question) != nullptr) {
    why_prefill = why_not_decode(*problem, question);
    in_decode = 0;
  }
  problem->decode_rows = -1;
  if (in_decode > 0) {
    ready->kernels[FOVEA_DECODE] = find_kernel(library, FOVEA_DECODE, ready);
    if (ready->kernels[FOVEA_DECODE] != nullptr) {
      problem->decode_rows = forced ? INT32_MAX : kDecodeRows;
    } else if (!forced) {
      why_prefill = "no decode kernel can be used";
      in_decode = 0;
    }
  }
  const int64_t in_prefill = counts.few_rows + counts.many_rows - in_decode;
  if (in_prefill > 0) ready->kernels[FOVEA_PREFILL] = find_kernel(library, FOVEA_PREFILL, ready);
  ready->why[FOVEA_PREFILL] = why_prefill;
  ready->why[FOVEA_DECODE] = why_decode;
  ready->sequences[FOVEA_PREFILL] = in_prefill;
  ready->sequences[FOVEA_DECODE] = in_decode;
  for (const fovea_pass pass : {FOVEA_DECODE, FOVEA_PREFILL}) {
    if (ready->sequences[pass] == 0 || ready->kernels[pass] != nullptr) continue;
    problem->request.pass = pass;
    return fail_without_kernel(library, problem->request, ready->capabilities);
  }
  return FOVEA_OK;
}

void forget_kernels(Preparation* preparation) {
  for (const fovea_kernel_info*& kernel : preparation->kernels) kernel = nullptr;
}

}  // namespace

fovea_status prepare(const fovea_library_info* library, int32_t variant, const fovea_call* call,
                     const Capabilities& capabilities, int32_t default_threads,
                     Preparation* preparation, Question question) {
  *preparation = {};
  preparation->capabilities = capabilities;
  fovea_status status = check_library(library, variant);
  if (status != FOVEA_OK) return status;
  Problem* problem = &preparation->problem;
  status = check_call(*library, variant, call, &preparation->capabilities, problem);
  if (status != FOVEA_OK || problem->nothing_to_do) return status;
  status = choose_kernels(*library, question, preparation);
  const bool on_device = problem->request.device != FOVEA_DEVICE_CPU;
  if (status == FOVEA_OK && on_device) status = check_device_call(*problem);
  // Else the call takes it together with the memory for its tensors.
  if (status == FOVEA_OK && on_device && problem->exec.host_tensors == 0)
    status = plan_device_call(*problem, preparation->kernels, &preparation->plan.bytes);
  if (status == FOVEA_OK && !on_device)
    status = plan_call(*problem, preparation->kernels, default_threads, &preparation->plan);
  if (status != FOVEA_OK) forget_kernels(preparation);
  return status;
}

}  // namespace fovea::detail
