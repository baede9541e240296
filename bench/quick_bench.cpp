// quick_bench.cpp: one variant against a plain loop, the first number a newcomer sees.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <fovea_bench_kernels.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <vector>

#include "bench/problem.h"
#include "bench/samples.h"

namespace {

using namespace fovea::bench;

// Causal attention as one writes it down, one head after the other, compiled with the flags of this
// build.
void plain_causal(const Problem& problem, const ProblemShape& s, std::vector<float>& out) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(s.d));
  std::vector<float> weight(static_cast<size_t>(s.skv));
  for (int64_t h = 0; h < s.hq; ++h) {
    const float* k = problem.k() + h * s.skv * s.d;
    const float* v = problem.v() + h * s.skv * s.d;
    for (int64_t i = 0; i < s.sq; ++i) {
      const float* q = problem.q() + (h * s.sq + i) * s.d;
      float* o = out.data() + (h * s.sq + i) * s.d;
      float largest = -HUGE_VALF, sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        float score = 0;
        for (int64_t d = 0; d < s.d; ++d) score += q[d] * k[j * s.d + d];
        weight[static_cast<size_t>(j)] = score * scale;
        largest = std::max(largest, score * scale);
      }
      for (int64_t d = 0; d < s.d; ++d) o[d] = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const float w = std::exp(weight[static_cast<size_t>(j)] - largest);
        sum += w;
        for (int64_t d = 0; d < s.d; ++d) o[d] += w * v[j * s.d + d];
      }
      for (int64_t d = 0; d < s.d; ++d) o[d] /= sum;
    }
  }
}

int run() {
  ProblemShape shape;
  shape.sq = shape.skv = 1024;
  const std::vector<fovea::Variant> declared = fovea::declared_variants();
  const fovea::Variant* causal = nullptr;
  for (const fovea::Variant& v : declared) {
    if (v.name() == "causal") causal = &v;
  }
  // No target named: whatever the dispatcher chooses on this machine.
  Problem problem(fovea_bench_kernels_library(), *causal, shape, "", 1, {});
  const Error error = problem.error();
  if (!error.ok()) {
    fmt::print(stderr, "the kernel is wrong: error {:.2e}, bound {:.2e}\n", error.max_abs,
               error.bound);
    return 1;
  }
  std::vector<float> out(static_cast<size_t>(shape.hq * shape.sq * shape.d));
  Samples generated, plain;
  plain_causal(problem, shape, out);
  for (int round = 0; round < 5; ++round) {
    generated.values.push_back(seconds_of([&] { problem.run(); }));
    plain.values.push_back(seconds_of([&] { plain_causal(problem, shape, out); }));
  }
  const double flops = problem.useful_flops();
  fmt::print("causal attention, f32, {}, 1 thread, {}\n", shape.text(), cpu_name());
  fmt::print("  plain loop   {:9.2f} ms  {:7.1f} GFLOP/s\n", plain.median() * 1e3,
             flops / plain.median() * 1e-9);
  fmt::print(
      "  fovea kernel {:9.2f} ms  {:7.1f} GFLOP/s  {:.0f} times as fast, error {:.1e} (bound "
      "{:.1e})\n",
      generated.median() * 1e3, flops / generated.median() * 1e-9,
      plain.median() / generated.median(), error.max_abs, error.bound);
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "fovea_quick_bench: {}\n", error.what());
    return 1;
  }
}
