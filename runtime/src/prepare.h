// All that happens before anything runs: checks, selection, the workspace plan.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PREPARE_H
#define FOVEA_PREPARE_H

#include "checks.h"
#include "run_call.h"
#include "selection.h"

namespace fovea::detail {

struct Preparation {
  Problem problem;
  Capabilities capabilities;  // with the call's own wishes
  // By pass; NULL on errors, if there is nothing to compute, or if no sequence runs in it.
  PassKernels kernels;
  const char* why[2];    // a pass was chosen, in words
  int64_t sequences[2];  // of a ragged batch that run in it
  CallPlan plan;
};

// What this process may use right now, before any call's wishes.
Capabilities present_capabilities();

// What a workspace is asked for. The size of a given one is left to check_workspace, parameters to
// check_parameters.
enum class Question {
  kRun,
  kSize  // how large one would have to be: as if the call had it
};
fovea_status prepare(const fovea_library_info* library, int32_t variant, const fovea_call* call,
                     const Capabilities& capabilities, int32_t default_threads,
                     Preparation* preparation, Question question = Question::kRun);

}  // namespace fovea::detail
#endif
