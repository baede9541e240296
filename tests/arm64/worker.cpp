// worker.cpp: runs the calls that a test of another architecture forwards.
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "libraries.h"
#include "shared_message.h"

namespace fovea::test {
namespace {

int last_to_first(void*, int32_t count, fovea_task task, void* closure) {
  int result = 0;
  for (int32_t i = count - 1; i >= 0; --i) {
    if (const int failed = task(closure, i); failed != 0 && result == 0) result = failed;
  }
  return result;
}

bool map(uintptr_t begin, size_t size) {
  void* address = reinterpret_cast<void*>(begin);
  return mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, worker_memory,
              static_cast<off_t>(begin - shared_begin)) == address;
}

bool follow_changes(const SharedMessage& m) {
  for (int64_t i = 0; i < m.change_count; ++i) {
    const MemoryChange& change = m.changes[i];
    if (change.readable) {
      if (!map(change.begin, change.size)) return false;
    } else {
      munmap(reinterpret_cast<void*>(change.begin), change.size);
    }
  }
  return true;
}

void answer(SharedMessage& m) {
  if (m.forced != nullptr) {
    setenv("FOVEA_TARGET", m.forced, 1);
  } else {
    unsetenv("FOVEA_TARGET");
  }
  if (m.backwards != nullptr) m.backwards->parallel_for = last_to_first;
  const fovea_library_info* library = library_functions[m.library]();
  switch (m.task) {
    case Task::Run:
      m.status = fovea_variant_run(library, m.variant, m.call, m.params);
      break;
    case Task::Workspace:
      m.size = fovea_variant_workspace(library, m.variant, m.call);
      break;
    case Task::Explain:
      m.status = fovea_variant_explain(library, m.variant, m.call, m.text, m.capacity);
      break;
    case Task::Append:
      m.status = fovea_variant_append(library, m.variant, m.append, m.params);
      break;
    case Task::Merge:
      m.status = fovea_merge(m.parts, m.part_count, m.merged, m.exec);
      break;
    case Task::EnableTargets:
      m.status = fovea_set_enabled_targets(m.names);
      break;
    case Task::CpuFeatures:
      m.size = fovea_cpu_features(m.text, m.capacity);
      return;
    case Task::DefaultThreads:
      m.size = static_cast<size_t>(fovea_default_threads());
      return;
  }
  std::snprintf(m.last_message, sizeof(m.last_message), "%s", fovea_last_message());
}

int serve() {
  if (!map(shared_begin, message_size)) {
    std::perror("worker: mmap of the message");
    return 1;
  }
  auto& message = *reinterpret_cast<SharedMessage*>(shared_begin);
  for (char byte; read(worker_socket, &byte, 1) == 1;) {
    if (!follow_changes(message)) {
      std::perror("worker: mmap");
      return 1;
    }
    answer(message);
    if (write(worker_socket, &byte, 1) != 1) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace fovea::test

int main() { return fovea::test::serve(); }
