// ragged_bench.cpp: a decode step of 32 sequences of very different lengths in one ragged call,
// beside a call for each of them, one sequence after the other: how much of their best rates
// together is left. All of them are more than caches hold, for both.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fovea_decode_bench_kernels.h>
#include <fovea/fovea.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

constexpr int64_t sequences = 32, heads = 8, kv_heads = 8, features = 64, longest = 8192;

// 1 to 8192 keys, each length as much longer than the one before, in no order.
std::vector<int32_t> lengths() {
  std::vector<int32_t> all;
  for (int64_t i = 0; i < sequences; ++i) {
    const double share = static_cast<double>(11 * i % sequences) / (sequences - 1);
    all.push_back(static_cast<int32_t>(std::lround(std::pow(longest, share))));
  }
  return all;
}

std::vector<int32_t> ends_of(const std::vector<int32_t>& counts) {
  std::vector<int32_t> ends(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), ends.begin() + 1);
  return ends;
}

double seconds_of(const fovea::Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  if (fovea_decode_bench_kernels_causal(&call, nullptr) != FOVEA_OK) {
    std::fprintf(stderr, "fovea_ragged_bench: %s\n", fovea_last_message());
    std::exit(1);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Tokens lie one after the other: [token, head, feature].
fovea_tensor rows_of(std::vector<float>& memory, int64_t of_heads, int64_t first, int64_t count) {
  const fovea::Shape shape = {1, of_heads, count, features};
  return fovea::tensor_bshd(memory.data() + first * of_heads * features, shape);
}

void step(benchmark::State& state) {
  const std::vector<int32_t> keys = lengths(), cu_k = ends_of(keys),
                             cu_q = ends_of(std::vector<int32_t>(sequences, 1));
  const auto numbers = [](int64_t count) {
    std::vector<float> all(static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>((7 * i) % 31) / 31 - 0.5f;
    return all;
  };
  std::vector<float> q = numbers(sequences * heads * features),
                     k = numbers(cu_k.back() * kv_heads * features), v = k, out(q.size());
  fovea::Exec exec;
  exec.threads = static_cast<int32_t>(state.range(0));
  const auto call_of = [&](int64_t first_row, int64_t rows, int64_t first_key, int64_t key_count) {
    fovea::Call call(rows_of(q, heads, first_row, rows), rows_of(k, kv_heads, first_key, key_count),
                     rows_of(v, kv_heads, first_key, key_count),
                     rows_of(out, heads, first_row, rows));
    call.exec = &exec;
    return call;
  };
  const fovea::Ragged ragged(sequences, cu_q.data(), cu_k.data());
  fovea::Call together = call_of(0, sequences, 0, cu_k.back());
  together.ragged = &ragged;
  std::vector<unsigned char> workspace(fovea_decode_bench_kernels_causal_workspace(&together));
  const auto lend_workspace = [&](fovea::Call& call) {
    call.workspace = workspace.data();
    call.workspace_size = workspace.size();
  };
  lend_workspace(together);

  std::vector<double> best(sequences, HUGE_VAL);
  double best_together = HUGE_VAL;
  for (auto _ : state) {
    for (int64_t b = 0; b < sequences; ++b) {
      fovea::Call one = call_of(b, 1, cu_k[static_cast<size_t>(b)], keys[static_cast<size_t>(b)]);
      lend_workspace(one);
      best[static_cast<size_t>(b)] = std::min(best[static_cast<size_t>(b)], seconds_of(one));
    }
    const double seconds = seconds_of(together);
    best_together = std::min(best_together, seconds);
    state.SetIterationTime(seconds);
  }
  const double alone = std::accumulate(best.begin(), best.end(), 0.0);
  state.counters["ms"] = 1e3 * best_together;
  state.counters["single_calls_ms"] = 1e3 * alone;
  state.counters["of_single_calls"] = alone / best_together;
}

}  // namespace

BENCHMARK(step)->Name("ragged/decode")->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime();

BENCHMARK_MAIN();
