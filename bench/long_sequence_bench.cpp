// long_sequence_bench.cpp: a sliding window over very long sequences: rate against a short one,
// memory, and a few rows against the reference.
//
// One head, D = 64. Each row is a process of its own, so that its peak memory is its own.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/reference.h>
#include <fovea/dsl/register.h>
#include <fovea_bench_kernels.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/samples.h"

namespace {

using namespace fovea::bench;

constexpr int64_t features = 64;

struct Row {
  int64_t length;
  int32_t window;
};

struct Measured {
  double seconds, spread, error, bound;
  double tensors_mib, peak_mib;
};

double peak_mib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Query row i sees min(i + 1, window) keys.
double useful_flops(const Row& row) {
  const auto n = static_cast<double>(row.length);
  const double w = std::min(n, static_cast<double>(row.window));
  return 4.0 * features * (w * (w + 1) / 2 + (n - w) * w);
}

const fovea::Variant& windowed(const std::vector<fovea::Variant>& declared) {
  for (const fovea::Variant& v : declared) {
    if (v.name() == "causal_window") return v;
  }
  throw std::logic_error("variant causal_window is not built in");
}

Measured measure(const Row& row, int threads, int rounds) {
  const auto count = static_cast<size_t>(row.length * features);
  std::vector<float> q(count), k(count), v(count), out(count);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.7f, 1.7f);
  for (std::vector<float>* values : {&q, &k, &v}) {
    for (float& x : *values) x = uniform(random);
  }
  const fovea::Shape shape = {1, 1, row.length, features};
  fovea::Call call(fovea::tensor(q.data(), shape), fovea::tensor(k.data(), shape),
                   fovea::tensor(v.data(), shape), fovea::tensor(out.data(), shape));
  fovea::Exec exec;
  exec.threads = threads;
  call.exec = &exec;
  fovea_bench_kernels_causal_window_params params = {};
  params.window = row.window;
  Samples samples;
  const auto run = [&] {
    if (fovea_bench_kernels_causal_window(&call, &params) != FOVEA_OK)
      throw std::invalid_argument(fovea_last_message());
  };
  run();
  for (int i = 0; i < rounds; ++i) samples.values.push_back(seconds_of(run));

  Measured m = {};
  m.seconds = samples.median();
  m.spread = samples.mad() / m.seconds;
  m.tensors_mib = 4.0 * static_cast<double>(count * sizeof(float)) / (1 << 20);
  m.peak_mib = peak_mib();  // before the reference, which keeps results in double

  const std::vector<fovea::Variant> declared = fovea::declared_variants();
  const fovea::Variant& variant = windowed(declared);
  const fovea::ParameterValues values = fovea::parameter_values(variant, &params);
  fovea::ReferenceOptions options;
  options.row_step = row.length / 4 + 13;  // at other places of a block each time
  const fovea::ReferenceResult exact = fovea::reference_attention(variant, call, values, options);
  const fovea::ReferenceResult plain = fovea::plain_attention(variant, call, values, options);
  for (size_t r = 0; r < exact.computed.size(); ++r) {
    if (!exact.computed[r]) continue;
    for (size_t i = r * features; i < (r + 1) * features; ++i) {
      const double error = std::fabs(exact.out[i] - static_cast<double>(out[i]));
      m.error = std::isnan(error) ? HUGE_VAL : std::max(m.error, error);
      m.bound = std::max(m.bound, 2 * std::fabs(exact.out[i] - plain.out[i]));
    }
  }
  return m;
}

// In a child, which reports through a pipe.
Measured measure_apart(const Row& row, int threads, int rounds) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("pipe failed");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    close(ends[0]);
    int status = 1;
    try {
      const Measured m = measure(row, threads, rounds);
      if (write(ends[1], &m, sizeof(m)) == static_cast<ssize_t>(sizeof(m))) status = 0;
    } catch (const std::exception& error) {
      fmt::print(stderr, "fovea_long_sequence_bench: {}\n", error.what());
    }
    _exit(status);
  }
  close(ends[1]);
  Measured m = {};
  const ssize_t got = read(ends[0], &m, sizeof(m));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != static_cast<ssize_t>(sizeof(m)) || status != 0)
    throw std::runtime_error(fmt::format("S = {}: measured nothing", row.length));
  return m;
}

int run(int threads, int rounds) {
  fmt::print(
      "causal_window, f32, one head, D = {}, {} thread{}, {}\n\n| S | window | ms | spread | "
      "GFLOP/s | of S = 8192 | tensors MiB | peak MiB | max error (bound) |\n"
      "|---|---|---|---|---|---|---|---|---|\n",
      features, threads, threads == 1 ? "" : "s", cpu_name());
  bool wrong = false;
  double base = 0;
  for (const Row& row : {Row{8192, 1024}, {131072, 1024}, {8192, 256}, {1048576, 256}}) {
    const Measured m = measure_apart(row, threads, rounds);
    const double rate = useful_flops(row) / m.seconds * 1e-9;
    if (row.length == 8192) base = rate;
    fmt::print(
        "| {} | {} | {:.2f} | {:.1f} % | {:.1f} | {:.2f} | {:.0f} | {:.0f} | {:.1e} ({:.1e}) |\n",
        row.length, row.window, m.seconds * 1e3, 100 * m.spread, rate, rate / base, m.tensors_mib,
        m.peak_mib, m.error, m.bound);
    wrong = wrong || m.error > m.bound;
  }
  if (wrong) fmt::print(stderr, "an error is above its bound\n");
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"A sliding window over very long sequences"};
  int threads = 1, rounds = 5;
  app.add_option("--threads", threads, "thread limit")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app.add_option("--rounds", rounds, "samples of every row")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  try {
    return run(threads, rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fovea_long_sequence_bench: {}\n", error.what());
    return 1;
  }
}
