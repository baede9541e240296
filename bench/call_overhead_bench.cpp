// call_overhead_bench.cpp: what a call costs beyond its arithmetic: checks, selection, work items,
// threads.
//
// Every row times whole calls, and next to them the kernel alone, on the arguments that the runtime
// gives it. overhead_ns is the call less its kernels, spread evenly over the threads. Where one
// thread works, both are its CPU time, which does not count what else the machine does.
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fovea/registry.h>
#include <fovea_bench_kernels.h>
#include <time.h>
#include <fovea/fovea.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int64_t features = 64;

int do_nothing(void**) { return 0; }

double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Stands in for a kernel: runs it again and again on the same arguments, inside one call.
struct Repeated {
  int (*kernel)(void**);
  int64_t times;
  double seconds;
};
Repeated repeated;
int run_repeatedly(void** argv) {
  const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
  int code = 0;
  for (int64_t i = 0; i < repeated.times && code == 0; ++i) code = repeated.kernel(argv);
  repeated.seconds += seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
  return code;
}

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "fovea_call_overhead_bench: %s\n", what);
  std::exit(1);
}

void run(const fovea_library_info& library, int32_t variant, const fovea::Call& call,
         const void* params) {
  if (fovea_variant_run(&library, variant, &call, params) != FOVEA_OK)
    give_up(fovea_last_message());
}

struct Shape {
  int64_t heads, rows;
  int threads;
};

// The generated library, its kernels replaced by `kernel` unless that is null.
class Library {
 public:
  explicit Library(int (*kernel)(void**)) : info_(*fovea_bench_kernels_library()) {
    kernels_.assign(info_.kernels, info_.kernels + info_.kernel_count);
    for (fovea_kernel_info& k : kernels_) {
      if (kernel != nullptr) k.run = kernel;
    }
    info_.kernels = kernels_.data();
  }
  const fovea_library_info& info() const { return info_; }
  int32_t variant(const std::string& name) const {
    for (int32_t i = 0; i < info_.variant_count; ++i) {
      if (name == info_.variants[i].name) return i;
    }
    give_up(("no variant " + name).c_str());
  }

 private:
  fovea_library_info info_;
  std::vector<fovea_kernel_info> kernels_;
};

// Seconds of one item of the call, by the kernel that the call chooses.
double kernel_seconds(const Library& real, int32_t variant, const fovea::Call& call,
                      const void* params, const Shape& shape) {
  std::string text(1 << 14, '\0');
  fovea_variant_explain(&real.info(), variant, &call, text.data(), text.size());
  const fovea_kernel_info* chosen = nullptr;
  for (int32_t i = 0; i < real.info().kernel_count; ++i) {
    const std::string start = std::string("chosen: ") + real.info().kernels[i].name + " ";
    if (text.compare(0, start.size(), start) == 0) chosen = &real.info().kernels[i];
  }
  if (chosen == nullptr) give_up(text.c_str());
  const Library measured(run_repeatedly);
  fovea::Exec exec;
  exec.threads = 1;
  fovea::Call alone = call;
  alone.exec = &exec;
  repeated = {chosen->run, 2000, 0};
  run(measured.info(), variant, alone, params);
  return repeated.seconds / static_cast<double>(repeated.times * shape.heads);
}

void call_overhead(benchmark::State& state, const char* name, const Shape& shape, bool is_real) {
  const Library library(is_real ? nullptr : do_nothing);
  const int32_t variant = library.variant(name);
  const auto count = static_cast<size_t>(shape.heads * shape.rows * features);
  std::vector<float> q(count, 0.5F), k(count, 0.25F), v(count, 1), out(count);
  const fovea::Shape extents = {1, shape.heads, shape.rows, features};
  fovea::Call call(fovea::tensor(q.data(), extents), fovea::tensor(k.data(), extents),
                   fovea::tensor(v.data(), extents), fovea::tensor(out.data(), extents));
  fovea::Exec exec;
  exec.threads = shape.threads;
  call.exec = &exec;
  fovea_bench_kernels_causal_window_params params = {1024};
  std::vector<unsigned char> workspace(fovea_variant_workspace(&library.info(), variant, &call));
  call.workspace = workspace.data();
  call.workspace_size = workspace.size();
  run(library.info(), variant, call, &params);

  const clockid_t clock = shape.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const double begin = seconds(clock);
  for (auto _ : state) run(library.info(), variant, call, &params);
  const double call_seconds = (seconds(clock) - begin) / static_cast<double>(state.iterations());
  const double kernel = is_real ? kernel_seconds(library, variant, call, &params, shape) : 0;
  state.counters["kernel_ns"] = 1e9 * kernel;
  state.counters["overhead_ns"] =
      1e9 * (call_seconds - kernel * static_cast<double>(shape.heads) / shape.threads);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  for (const Shape& shape : {Shape{1, 1, 1}, {1, 4, 1}, {1, 16, 1}, {8, 16, 1}, {8, 16, 2}}) {
    for (const char* variant : {"full", "causal", "causal_window"}) {
      for (const bool is_real : {false, true}) {
        const std::string name = std::string(variant) + (is_real ? "" : ",no arithmetic") +
                                 ",S=" + std::to_string(shape.rows) +
                                 ",heads=" + std::to_string(shape.heads) +
                                 ",threads=" + std::to_string(shape.threads);
        benchmark::RegisterBenchmark(name.c_str(), call_overhead, variant, shape, is_real)
            ->UseRealTime();
      }
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
