// forwarded_calls.cpp: the functions of fovea.h, and those behind generated ones, computed by the
// worker. SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "runtime/src/cpu_family.h"
#include "tests/support/test_kernel.h"
#include "worker_client.h"

namespace fovea::test {
namespace {

thread_local std::string last_message;

int32_t number_of(const fovea_library_info* library) {
  const std::vector<const fovea_library_info*> all = tested_libraries();
  const auto found = std::find(all.begin(), all.end(), library);
  if (found == all.end()) throw std::logic_error("a library that the worker does not have");
  return static_cast<int32_t>(found - all.begin());
}

struct Answer {
  fovea_status status;
  size_t size;
};

Answer ask(Task task, const std::function<void(SharedCopy&)>& fill, char* text = nullptr,
           size_t capacity = 0) {
  Answer answer = {FOVEA_KERNEL_FAILED, 0};
  const std::string death = WorkerClient::instance().ask(
      [&](SharedCopy& copy) {
        SharedMessage& m = copy.message();
        m.task = task;
        m.text = text == nullptr ? nullptr : copy.room(capacity);
        m.capacity = capacity;
        fill(copy);
      },
      [&](const SharedMessage& m) {
        answer = {m.status, m.size};
        last_message = m.last_message;
        if (text != nullptr && capacity > 0) std::memcpy(text, m.text, capacity);
      });
  if (!death.empty()) last_message = death;
  return answer;
}

}  // namespace
}  // namespace fovea::test

// The worker's: no Arm CPU has one.
fovea::detail::CpuFamily fovea::detail::cpu_family() { return CpuFamily::kUnknown; }

using namespace fovea::test;

extern "C" {

fovea_status fovea_variant_run(const fovea_library_info* library, int32_t variant,
                               const fovea_call* call, const void* params) {
  return ask(Task::Run,
             [&](SharedCopy& copy) {
               SharedMessage& m = copy.message();
               m.library = number_of(library);
               m.variant = variant;
               m.call = copy.call(call);
               m.params = copy.params(library->variants[variant], params);
             })
      .status;
}

size_t fovea_variant_workspace(const fovea_library_info* library, int32_t variant,
                               const fovea_call* call) {
  return ask(Task::Workspace,
             [&](SharedCopy& copy) {
               SharedMessage& m = copy.message();
               m.library = number_of(library);
               m.variant = variant;
               m.call = copy.call(call);
             })
      .size;
}

fovea_status fovea_variant_append(const fovea_library_info* library, int32_t variant,
                                  const fovea_append* append, const void* params) {
  return ask(Task::Append,
             [&](SharedCopy& copy) {
               SharedMessage& m = copy.message();
               m.library = number_of(library);
               m.variant = variant;
               m.append = copy.append(append);
               m.params = copy.params(library->variants[variant], params);
             })
      .status;
}

fovea_status fovea_variant_explain(const fovea_library_info* library, int32_t variant,
                                   const fovea_call* call, char* text, size_t capacity) {
  return ask(
             Task::Explain,
             [&](SharedCopy& copy) {
               SharedMessage& m = copy.message();
               m.library = number_of(library);
               m.variant = variant;
               m.call = copy.call(call);
             },
             text, capacity)
      .status;
}

fovea_status fovea_merge(const fovea_partial* parts, int64_t count, const fovea_partial* merged,
                         const fovea_exec* exec) {
  return ask(Task::Merge,
             [&](SharedCopy& copy) {
               SharedMessage& m = copy.message();
               m.parts = copy.parts(parts, count);
               m.part_count = count;
               m.merged = copy.merged(merged);
               m.exec = copy.exec(exec);
             })
      .status;
}

fovea_status fovea_set_enabled_targets(const char* names) {
  return ask(Task::EnableTargets,
             [&](SharedCopy& copy) { copy.message().names = copy.text(names); })
      .status;
}

size_t fovea_cpu_features(char* text, size_t capacity) {
  return ask(Task::CpuFeatures, [](SharedCopy&) {}, text, capacity).size;
}

int32_t fovea_default_threads(void) {
  return static_cast<int32_t>(ask(Task::DefaultThreads, [](SharedCopy&) {}).size);
}

const char* fovea_last_message(void) { return last_message.c_str(); }

}  // extern "C"
