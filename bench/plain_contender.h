// plain_contender.h: attention as one writes it down, for comparison.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_PLAIN_CONTENDER_H
#define FOVEA_BENCH_PLAIN_CONTENDER_H

#include <memory>

#include "bench/contender.h"
#include "bench/problem.h"

namespace fovea::bench {

// Loops over full or causal attention in f32 on one thread, compiled with the flags of this build.
// Throws Unavailable for other problems.
std::unique_ptr<Contender> plain_contender(const Problem& problem, int threads);

}  // namespace fovea::bench

#endif
