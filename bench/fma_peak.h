// fma_peak.h: how many f32 operations per second this machine can do, measured.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_FMA_PEAK_H
#define FOVEA_BENCH_FMA_PEAK_H

namespace fovea::bench {

// GFLOP/s of multiply-adds (counted as two) with vectors of 64, 32 or 16 bytes, on `threads`
// threads at once for about `seconds`. 0 when the CPU has no instructions for them.
double fma_peak_gflops(int vector_bytes, int threads, double seconds);

}  // namespace fovea::bench

#endif
