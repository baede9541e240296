// SPDX-License-Identifier: Apache-2.0
#include "parallel.h"

#include <fovea/registry.h>

#include "threads.h"

namespace fovea::detail {
namespace {

struct Tasks {
  fovea_task task;
  void* closure;
};

int pool_task(void*, int index, uint8_t* closure) {
  const Tasks* tasks = reinterpret_cast<const Tasks*>(closure);
  return tasks->task(tasks->closure, index);
}

}  // namespace

int run_tasks(const fovea_exec& exec, int32_t count, fovea_task task, void* closure,
              const char** runner) {
  *runner = "the thread pool";
  if (count > 1 && exec.parallel_for != nullptr) {
    *runner = "exec.parallel_for";
    return exec.parallel_for(exec.pool, count, task, closure);
  }
  if (count > 1 && pool_has_threads()) {
    Tasks tasks = {task, closure};
    return fovea_halide_do_par_for(nullptr, pool_task, 0, count,
                                   reinterpret_cast<uint8_t*>(&tasks));
  }
  int code = 0;
  for (int32_t i = 0; i < count && code == 0; ++i) code = task(closure, i);
  return code;
}

}  // namespace fovea::detail
