// shared_message.h: what a test and its worker, a process of another architecture, tell each other.
// Both map the same memory at the same addresses, and their structures have the same layout, so
// that pointers into it mean the same on both sides. SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_TESTS_ARM64_SHARED_MESSAGE_H
#define FOVEA_TESTS_ARM64_SHARED_MESSAGE_H

#include <fovea/registry.h>

#include <cstddef>
#include <cstdint>

namespace fovea::test {

// Far from where loaders and emulators put things. The message comes first, then what a call points
// to, then the memory of tensors, of which only parts exist at a time.
constexpr uintptr_t shared_begin = 0x100000000000;
constexpr size_t shared_size = size_t{1} << 40;
constexpr size_t message_size = size_t{64} << 20;

// File descriptors of the worker.
constexpr int worker_socket = 3, worker_memory = 4;

enum class Task : int32_t {
  Run,
  Workspace,
  Explain,
  Append,
  Merge,
  EnableTargets,
  CpuFeatures,
  DefaultThreads
};

// Memory that has come into being, or is gone, since the last message.
struct MemoryChange {
  uintptr_t begin;
  size_t size;
  bool readable;
};

struct SharedMessage {
  Task task;
  int32_t library;  // in the order of tested_libraries()
  int32_t variant;
  const fovea_call* call;
  const fovea_append* append;
  const void* params;
  const fovea_partial* parts;
  int64_t part_count;
  const fovea_partial* merged;
  const fovea_exec* exec;  // of a merge
  const char* names;       // of targets
  const char* forced;      // the environment variable FOVEA_TARGET, NULL: not set
  char* text;
  size_t capacity;
  const MemoryChange* changes;
  int64_t change_count;
  fovea_exec* backwards;  // gets a parallel_for of the worker's, which runs the last item first

  // The answer.
  fovea_status status;
  size_t size;
  char last_message[4096];
};

}  // namespace fovea::test

#endif
