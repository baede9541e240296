// Tasks on the caller's threads or on the library's pool.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_PARALLEL_H
#define FOVEA_PARALLEL_H

#include <fovea/fovea.h>

namespace fovea::detail {

// Runs task(closure, 0 … count-1) by exec.parallel_for, else by the library's pool, else (one task,
// or a child of fork()) here, and gives what that returned. *runner names it, for messages.
int run_tasks(const fovea_exec& exec, int32_t count, fovea_task task, void* closure,
              const char** runner);

}  // namespace fovea::detail
#endif
