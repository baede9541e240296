// merge_bench.cpp: bytes a second of fovea_merge, and of memcpy moving as many bytes in the same
// memory. One thread, its CPU time.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <time.h>
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename Element>
void merge(benchmark::State& state) {
  const int64_t count = state.range(0), rows = state.range(1), features = state.range(2);
  const size_t elements = static_cast<size_t>(rows * features);
  std::vector<std::vector<Element>> out(static_cast<size_t>(count + 1),
                                        std::vector<Element>(elements));
  std::vector<std::vector<float>> lse(out.size(), std::vector<float>(static_cast<size_t>(rows)));
  std::vector<fovea_partial> tensors;
  for (size_t i = 0; i < out.size(); ++i) {
    for (size_t row = 0; row < lse[i].size(); ++row)
      lse[i][row] = static_cast<float>((7 * row + 3 * i) % 11);
    tensors.push_back({fovea::tensor(out[i].data(), {1, 1, rows, features}),
                       fovea::lse_tensor(lse[i].data(), 1, 1, rows)});
  }
  fovea::Exec exec;
  exec.threads = 1;
  double seconds = 0, copy_seconds = 0;
  const size_t bytes =
      out.size() * (elements * sizeof(Element) + static_cast<size_t>(rows) * sizeof(float));
  const int64_t times = std::max<int64_t>(1, 4096 / rows);  // asking for the time takes some itself
  for (auto _ : state) {
    double begin = cpu_seconds();
    for (int64_t i = 0; i < times; ++i) {
      const fovea::Status status = fovea::merge(tensors.data(), count, tensors.back(), &exec);
      if (status.ok()) continue;
      std::fprintf(stderr, "fovea_merge_bench: %s\n", status.message());
      std::exit(1);
    }
    const double merged = cpu_seconds() - begin;
    begin = cpu_seconds();
    for (int64_t time = 0; time < times; ++time) {
      size_t copied = 0;
      for (size_t i = 0; copied < bytes / 2; ++i) {
        const size_t some = std::min(elements * sizeof(Element), bytes / 2 - copied);
        std::memcpy(out.back().data(), out[i].data(), some);
        benchmark::DoNotOptimize(out.back().data());
        copied += some;
      }
    }
    copy_seconds += cpu_seconds() - begin;
    seconds += merged;
    state.SetIterationTime(merged);
  }
  const double gigabytes =
      1e-9 * static_cast<double>(bytes) * static_cast<double>(times * state.iterations());
  state.counters["GB/s"] = gigabytes / seconds;
  state.counters["memcpy_GB/s"] = gigabytes / copy_seconds;
}

// Parts, rows, features: the merge of a decode step, in cache, and one that comes from memory.
void shapes(benchmark::internal::Benchmark* rows) {
  for (const int64_t features : {64, 128}) {
    for (const int64_t parts : {2, 8}) {
      rows->Args({parts, 32, features});
      rows->Args({parts, 65536, features});
    }
  }
  rows->ArgNames({"parts", "rows", "features"})->UseManualTime();
}

}  // namespace

BENCHMARK(merge<float>)->Name("merge/f32")->Apply(shapes);
BENCHMARK(merge<fovea::f16>)->Name("merge/f16")->Apply(shapes);
BENCHMARK(merge<fovea::bf16>)->Name("merge/bf16")->Apply(shapes);

BENCHMARK_MAIN();
