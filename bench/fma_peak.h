// fma_peak.h: how many f32 operations per second this machine can do, measured.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_FMA_PEAK_H
#define FOVEA_BENCH_FMA_PEAK_H

#include <string>

namespace fovea::bench {

// GFLOP/s of multiply-adds (counted as two) with the widest vectors of `target`, on `threads`
// threads at once for about `seconds`. 0 when the CPU cannot run the target's instructions.
double fma_peak_gflops(const std::string& target, int threads, double seconds);

}  // namespace fovea::bench

#endif
