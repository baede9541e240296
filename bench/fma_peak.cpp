// fma_peak.cpp: independent chains of multiply-adds, enough of them to hide their latency.
// SPDX-License-Identifier: Apache-2.0
#include "bench/fma_peak.h"

#include <immintrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace fovea::bench {
namespace {

constexpr int64_t rounds = 20000;
constexpr int chains = 12;

// Each returns the floating-point operations it did. The asm keeps the compiler from merging or
// dropping the chains.
__attribute__((target("avx512f"))) int64_t run_avx512() {
  __m512 a[chains];
  for (__m512& x : a) x = _mm512_set1_ps(0.5f);
  const __m512 m = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(1e-3f);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m512& x : a) asm volatile("vfmadd213ps %2, %1, %0" : "+v"(x) : "v"(m), "v"(c));
  }
  return rounds * chains * 16 * 2;
}

__attribute__((target("avx2,fma"))) int64_t run_avx2() {
  __m256 a[chains];
  for (__m256& x : a) x = _mm256_set1_ps(0.5f);
  const __m256 m = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(1e-3f);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (__m256& x : a) asm volatile("vfmadd213ps %2, %1, %0" : "+x"(x) : "x"(m), "x"(c));
  }
  return rounds * chains * 8 * 2;
}

// Without a fused instruction the most is one multiplication and one addition side by side.
int64_t run_sse() {
  __m128 a[chains];
  for (__m128& x : a) x = _mm_set1_ps(0.5f);
  const __m128 m = _mm_set1_ps(0.999f), c = _mm_set1_ps(1e-3f);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < chains; ++j) {
      if (j % 2) {
        asm volatile("mulps %1, %0" : "+x"(a[j]) : "x"(m));
      } else {
        asm volatile("addps %1, %0" : "+x"(a[j]) : "x"(c));
      }
    }
  }
  return rounds * chains * 4;
}

}  // namespace

double fma_peak_gflops(int vector_bytes, int threads, double seconds) {
  int64_t (*run)() = nullptr;
  if (vector_bytes == 64 && __builtin_cpu_supports("avx512f")) run = run_avx512;
  if (vector_bytes == 32 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    run = run_avx2;
  if (vector_bytes == 16) run = run_sse;
  if (!run) return 0;

  using Clock = std::chrono::steady_clock;
  std::vector<double> rates(static_cast<size_t>(threads), 0.0);
  std::atomic<int> waiting{threads};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      run();
      // All begin together, or a thread alone would be measured at a clock it cannot keep in
      // company.
      waiting.fetch_sub(1);
      while (waiting.load() > 0) {
      }
      const Clock::time_point begin = Clock::now();
      double elapsed = 0;
      int64_t operations = 0;
      do {
        operations += run();
        elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      } while (elapsed < seconds);
      rates[static_cast<size_t>(t)] = static_cast<double>(operations) / elapsed * 1e-9;
    });
  }
  for (std::thread& w : workers) w.join();
  double total = 0;
  for (const double r : rates) total += r;
  return total;
}

}  // namespace fovea::bench
