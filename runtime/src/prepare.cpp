// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <limits.h>
#include <stdlib.h>

#include "cpu_detect.h"
#include "cpu_family.h"
#include "decode.h"
#include "prefill.h"
#include "targets.h"

namespace fovea::detail {

Capabilities present_capabilities() {
  const char* forced = getenv("FOVEA_TARGET");
  if (forced != nullptr && forced[0] == '\0') forced = nullptr;
  return {cpu_architecture(), cpu_features(), cpu_family(),
          enabled_targets(),  forced,         "FOVEA_TARGET"};
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

fovea_status check_forced_decode(const Problem& problem) {
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
  return FOVEA_OK;
}

// Settles the pass of the request and looks for its kernel.
fovea_status choose_kernel(const fovea_library_info& library, Preparation* ready) {
  Problem* problem = &ready->problem;
  const bool forced = problem->exec.pass != nullptr;
  if (forced) {
    ready->why_pass = "exec.pass forces it";
    if (problem->request.pass == FOVEA_DECODE) {
      const fovea_status status = check_forced_decode(*problem);
      if (status != FOVEA_OK) return status;
    }
  } else {
    problem->request.pass = FOVEA_PREFILL;
    ready->why_pass = "more than 16 query rows";
    static_assert(kDecodeRows == 16, "said in the line above");
    if (problem->q_rows <= kDecodeRows) {
      if (wants_probabilities(*problem)) {
        ready->why_pass = "decode does not return probabilities";
      } else if (!heads_are_near(*problem)) {
        ready->why_pass = "the head stride of q is beyond 32 bits, which decode needs";
      } else {
        problem->request.pass = FOVEA_DECODE;
        ready->why_pass = "at most 16 query rows";
      }
    }
  }
  ready->kernel = select_kernel(library, problem->request, ready->capabilities);
  if (ready->kernel == kNoKernel && !forced && problem->request.pass == FOVEA_DECODE) {
    problem->request.pass = FOVEA_PREFILL;
    ready->why_pass = "no decode kernel can be used";
    ready->kernel = select_kernel(library, problem->request, ready->capabilities);
  }
  if (ready->kernel != kNoKernel) return FOVEA_OK;
  return fail_without_kernel(library, problem->request, ready->capabilities);
}

}  // namespace

fovea_status prepare(const fovea_library_info* library, int32_t variant, const fovea_call* call,
                     const Capabilities& capabilities, int32_t default_threads,
                     Preparation* preparation) {
  *preparation = {};
  preparation->capabilities = capabilities;
  preparation->kernel = kNoKernel;
  fovea_status status = check_library(library, variant);
  if (status != FOVEA_OK) return status;
  Problem* problem = &preparation->problem;
  status = check_call(*library, variant, call, &preparation->capabilities, problem);
  if (status != FOVEA_OK || problem->nothing_to_do) return status;
  status = choose_kernel(*library, preparation);
  if (status != FOVEA_OK) return status;
  const fovea_kernel_info& kernel = library->kernels[preparation->kernel];
  status = kernel.pass == FOVEA_DECODE
               ? plan_decode(*problem, kernel, default_threads, &preparation->plan)
               : plan_prefill(*problem, kernel, default_threads, &preparation->plan);
  if (status != FOVEA_OK) preparation->kernel = kNoKernel;
  return status;
}

}  // namespace fovea::detail
