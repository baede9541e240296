// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <stdlib.h>

#include "cpu_detect.h"
#include "cpu_family.h"
#include "targets.h"

namespace fovea::detail {

Capabilities present_capabilities() {
  const char* forced = getenv("FOVEA_TARGET");
  if (forced != nullptr && forced[0] == '\0') forced = nullptr;
  return {cpu_architecture(), cpu_features(), cpu_family(),
          enabled_targets(),  forced,         "FOVEA_TARGET"};
}

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
  const int32_t chosen = select_kernel(*library, problem->request, preparation->capabilities);
  if (chosen == kNoKernel)
    return fail_without_kernel(*library, problem->request, preparation->capabilities);
  status = plan_workspace(*problem, library->kernels[chosen], default_threads, &preparation->plan);
  if (status == FOVEA_OK) preparation->kernel = chosen;
  return status;
}

}  // namespace fovea::detail
