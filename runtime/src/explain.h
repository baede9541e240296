// The answer to "which kernel, and why not the others".
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_EXPLAIN_H
#define FOVEA_EXPLAIN_H

#include <fovea/registry.h>

#include "selection.h"

namespace fovea::detail {

// A line with each choice, or with the error; then, for every other answer, the kernels of the
// variant that get it. Returns what
// the call would before running (parameters are not looked at), with the message set on errors.
fovea_status explain(const fovea_library_info* library, int32_t variant, const fovea_call* call,
                     const Capabilities& capabilities, int32_t default_threads, Text* text);

}  // namespace fovea::detail
#endif
