// kernel_contender.h: a generated kernel, loaded from a shared library.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_KERNEL_CONTENDER_H
#define FOVEA_BENCH_KERNEL_CONTENDER_H

#include <fovea/registry.h>

#include <filesystem>
#include <memory>
#include <string>

#include "bench/contender.h"
#include "bench/kv_cache.h"
#include "bench/problem.h"

namespace fovea::bench {

struct KernelChoice {
  std::string target, pass;
  int threads = 1;
  KvCacheChoice cache = {};
};

// Calls the kernel as an application does, on memory of its own.
// Throws Unavailable: the library does not load, or refuses the call.
std::unique_ptr<Contender> kernel_contender(const std::filesystem::path& library,
                                            const KernelChoice& choice, const Problem& problem);

}  // namespace fovea::bench

#endif
