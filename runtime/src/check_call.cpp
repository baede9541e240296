// Checks of the call's structures and settings.
// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "checks.h"
#include "targets.h"

namespace fovea::detail {
namespace {

bool is_target_name(const fovea_library_info& library, const char* name) {
  if (known_target(name, strlen(name)) >= 0) return true;
  for (int32_t i = 0; i < library.target_count; ++i) {
    if (strcmp(library.targets[i].name, name) == 0) return true;
  }
  return false;
}

fovea_status check_pass(Problem* problem) {
  const fovea_exec& exec = problem->exec;
  problem->request.pass = FOVEA_PREFILL;
  if (exec.pass == nullptr) return FOVEA_OK;
  const int32_t pass = pass_from_name(exec.pass);
  if (pass < 0) {
    Text text = message_text();
    text.append("exec.pass = \"%.64s\": no such pass; allowed: ", exec.pass);
    append_pass_names(text);
    return FOVEA_INVALID_ARGUMENT;
  }
  problem->request.pass = static_cast<fovea_pass>(pass);
  return FOVEA_OK;
}

fovea_status check_target(const fovea_library_info& library, const fovea_exec& exec,
                          Capabilities* capabilities) {
  if (exec.target != nullptr) {
    capabilities->forced_target = exec.target;
    capabilities->forced_by = "exec.target";
  }
  if (capabilities->forced_target != nullptr &&
      !is_target_name(library, capabilities->forced_target)) {
    Text text = message_text();
    text.append("%s = \"%.64s\": no such target; allowed: ", capabilities->forced_by,
                capabilities->forced_target);
    append_known_targets(text);
    return FOVEA_INVALID_ARGUMENT;
  }
  return FOVEA_OK;
}

fovea_status check_scale(Problem* problem) {
  if (problem->call.scale == nullptr) {
    // With d_qk = 0 no kernel exists; selection says so.
    const double features =
        static_cast<double>(problem->d_qk) / static_cast<double>(problem->variant->slices);
    problem->scale = features > 0 ? static_cast<float>(1.0 / sqrt(features)) : 0.0F;
    return FOVEA_OK;
  }
  problem->scale = *problem->call.scale;
  if (!isfinite(problem->scale)) {
    return fail(FOVEA_INVALID_ARGUMENT, "scale = %g: allowed: any finite number",
                static_cast<double>(problem->scale));
  }
  return FOVEA_OK;
}

}  // namespace

fovea_status complete(const char* name, const void* from, size_t first_size, size_t size,
                      void* to) {
  uint32_t stated = 0;
  memcpy(&stated, from, sizeof(stated));  // every structure begins with its size
  if (stated < first_size || stated > size) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "%s.size = %" PRIu32 ": allowed: %zu to %zu; set it to sizeof(fovea_%s)", name,
                stated, first_size, size, name);
  }
  memcpy(to, from, stated);
  if (stated < size) memset(static_cast<char*>(to) + stated, 0, size - stated);
  return FOVEA_OK;
}

fovea_status check_exec(const fovea_library_info& library, const fovea_exec* given,
                        Capabilities* capabilities, fovea_exec* exec) {
  fovea_status status = FOVEA_OK;
  if (given != nullptr) status = complete("exec", given, kFirstExecSize, sizeof(fovea_exec), exec);
  if (status == FOVEA_OK) status = check_threads(*exec);
  if (status == FOVEA_OK) status = check_target(library, *exec, capabilities);
  if (status != FOVEA_OK) return status;
  const fovea_allocator* allocator = exec->allocator;
  if (allocator != nullptr && (allocator->allocate == nullptr || allocator->release == nullptr)) {
    return fail(FOVEA_INVALID_ARGUMENT, "exec.allocator->%s is NULL: set both allocate and release",
                allocator->allocate == nullptr ? "allocate" : "release");
  }
  return FOVEA_OK;
}

fovea_status check_device(const fovea_library_info& library, const fovea_exec& exec,
                          const void* memory, Capabilities* capabilities, Request* request) {
  if (exec.device != FOVEA_DEVICE_CPU && exec.device != FOVEA_DEVICE_CUDA &&
      exec.device != FOVEA_DEVICE_OPENCL) {
    return fail(FOVEA_INVALID_ARGUMENT,
                "exec.device = %d: allowed: FOVEA_DEVICE_CPU, FOVEA_DEVICE_CUDA, "
                "FOVEA_DEVICE_OPENCL",
                static_cast<int>(exec.device));
  }
  request->device = exec.device;
  const char* forced = capabilities->forced_target;
  const fovea_device of_target =
      forced != nullptr ? device_of(target_architecture(library, forced)) : FOVEA_DEVICE_CPU;
  if (exec.device == FOVEA_DEVICE_CPU && of_target != FOVEA_DEVICE_CPU) {
    if (exec.host_tensors == 0) {
      return fail(FOVEA_INVALID_ARGUMENT,
                  "exec.device is FOVEA_DEVICE_CPU: %s = \"%.64s\" computes on device %s; set "
                  "exec.device and give it memory of the device, or exec.host_tensors = 1, which "
                  "copies",
                  capabilities->forced_by, forced, device_name(of_target));
    }
    request->device = of_target;
  }
  if (request->device == FOVEA_DEVICE_CPU) return check_stream(exec);
  if (capabilities->device.text[0] == '\0')
    driver_of(request->device)
        .describe(exec.stream, exec.host_tensors != 0 ? nullptr : memory, &capabilities->device);
  return FOVEA_OK;
}

fovea_status check_threads(const fovea_exec& exec) {
  if (exec.threads >= 0) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "exec.threads = %" PRId32 ": allowed: 0 (as many as this process may use) or more",
              exec.threads);
}

fovea_status check_stream(const fovea_exec& exec) {
  if (exec.stream == nullptr) return FOVEA_OK;
  return fail(FOVEA_INVALID_ARGUMENT,
              "exec.stream = %p: must be NULL where exec.device is FOVEA_DEVICE_CPU", exec.stream);
}

fovea_status check_library(const fovea_library_info* library, int32_t variant) {
  if (library == nullptr) return fail(FOVEA_INVALID_ARGUMENT, "library is NULL");
  if (library->abi_version != FOVEA_ABI_VERSION) {
    return fail(FOVEA_UNSUPPORTED,
                "library.abi_version = %" PRIu32
                ": this runtime understands %d; generate the library and compile the "
                "runtime with the same version of fovea",
                library->abi_version, FOVEA_ABI_VERSION);
  }
  if (variant < 0 || variant >= library->variant_count) {
    return fail(FOVEA_INVALID_ARGUMENT, "variant = %" PRId32 ": allowed: 0 to %" PRId32, variant,
                library->variant_count - 1);
  }
  if (library->variants[variant].parameter_count > FOVEA_MAX_PARAMETERS) {
    return fail(FOVEA_UNSUPPORTED,
                "variant %s has %" PRId32 " parameters: at most %d are supported",
                library->variants[variant].name, library->variants[variant].parameter_count,
                FOVEA_MAX_PARAMETERS);
  }
  if (library->variants[variant].slices < 1) {
    return fail(FOVEA_UNSUPPORTED, "variant %s has %" PRId32 " slices: at least 1 is allowed",
                library->variants[variant].name, library->variants[variant].slices);
  }
  return FOVEA_OK;
}

fovea_status check_call(const fovea_library_info& library, int32_t variant, const fovea_call* call,
                        Capabilities* capabilities, Problem* problem) {
  problem->variant = &library.variants[variant];
  problem->request.variant = variant;
  if (call == nullptr) return fail(FOVEA_INVALID_ARGUMENT, "call is NULL");
  fovea_status status = complete("call", call, kFirstCallSize, sizeof(fovea_call), &problem->call);
  if (status != FOVEA_OK) return status;
  // Known from here on, also to explain, whatever else may be wrong.
  problem->request.dtype = problem->call.q.dtype;
  problem->request.d_qk = problem->call.q.extent[3];
  problem->request.d_v = problem->call.v.extent[3];
  if (problem->call.cache != nullptr) {
    status = complete("cache", problem->call.cache, kFirstCacheSize, sizeof(fovea_cache),
                      &problem->cache);
    if (status != FOVEA_OK) return status;
    problem->request.cache = cache_kind_of(problem->call.k.dtype, problem->call.q.dtype);
  }
  if (problem->call.ragged != nullptr) {
    status = check_ragged(problem->call.ragged, &problem->ragged);
    if (status != FOVEA_OK) return status;
  }
  status = check_exec(library, problem->call.exec, capabilities, &problem->exec);
  if (status == FOVEA_OK)
    status =
        check_device(library, problem->exec, problem->call.q.data, capabilities, &problem->request);
  if (status == FOVEA_OK) status = check_pass(problem);
  if (status != FOVEA_OK) return status;
  status = check_tensors(problem);
  if (status != FOVEA_OK) return status;
  status = check_scale(problem);
  if (status != FOVEA_OK) return status;
  status = check_lengths(*problem);
  return status != FOVEA_OK || !problem->has_pages() ? status : check_block_table(*problem);
}

fovea_status check_workspace(const Problem& problem, size_t needed) {
  if (problem.call.workspace == nullptr || problem.call.workspace_size >= needed) return FOVEA_OK;
  return fail(FOVEA_WORKSPACE_TOO_SMALL,
              "workspace_size = %zu: this call needs at least %zu bytes (%s_workspace)",
              problem.call.workspace_size, needed, problem.variant->name);
}

}  // namespace fovea::detail
