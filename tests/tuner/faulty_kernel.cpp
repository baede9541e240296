// faulty_kernel.cpp: libraries that look like one kernel's and misbehave when they are called; the
// build defines which way.
// SPDX-License-Identifier: Apache-2.0
#include <fovea/registry.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {

const fovea_library_info* bench_library(void) { return nullptr; }

size_t fovea_variant_workspace(const fovea_library_info*, int32_t, const fovea_call*) { return 0; }

fovea_status fovea_variant_append(const fovea_library_info*, int32_t, const fovea_append*,
                                  const void*) {
  return FOVEA_UNSUPPORTED;
}

const char* fovea_last_message(void) { return "on purpose"; }

fovea_status fovea_variant_run(const fovea_library_info*, int32_t, const fovea_call* call,
                               const void*) {
  [[maybe_unused]] const auto bytes =
      static_cast<size_t>(call->out.extent[0] * call->out.extent[1] * call->out.extent[2] *
                          call->out.extent[3]) *
      sizeof(float);
#if defined(FAULT_CRASH)
  std::abort();
#elif defined(FAULT_HANG)
  for (;;) pause();
#elif defined(FAULT_MEMORY)
  std::vector<char> much(size_t{1} << 40);
  std::memset(call->out.data, much[bytes], bytes);
#elif defined(FAULT_REFUSE)
  return FOVEA_INVALID_ARGUMENT;
#elif defined(FAULT_EXIT)
  std::_Exit(3);
#elif defined(FAULT_SILENT)

#else
  std::memset(call->out.data, 0, bytes);
#endif
  return FOVEA_OK;
}
}
