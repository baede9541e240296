// unfenced_barriers.cpp: an OpenCL driver in which the barriers at the end of loops over blocks of
// keys order no memory: the one that it is linked to, but for the source of programs.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" void* clCreateProgramWithSource(void* context, uint32_t count, const char** texts,
                                           const size_t* lengths, int32_t* error) {
  using Create = void* (*)(void*, uint32_t, const char**, const size_t*, int32_t*);
  const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "clCreateProgramWithSource"));
  if (create == nullptr || count != 1) std::abort();
  std::string source(texts[0], lengths[0]);
  const std::string fence = " | CLK_LOCAL_MEM_FENCE";
  const std::string end = "} // for _state_s";
  for (size_t at = 0; (at = source.find(end, at)) != std::string::npos; at += end.size()) {
    const size_t last = source.rfind(fence, at);
    if (last == std::string::npos) continue;
    source.erase(last, fence.size());
    at -= fence.size();
  }
  const char* text = source.c_str();
  const size_t length = source.size();
  return create(context, 1, &text, &length, error);
}
