// autoscheduler_bench.cpp: Halide's own autoschedulers beside the default schedule.
//
// Two algorithms without any schedule: attention as it is written down, all scores first, and the
// prefill pipeline that kernels are made from, a block of rows of one head. Each is given to each
// autoscheduler in a process of its own, checked, and timed in turn with the kernel of a library.
// One thread, f32, D = 64. What a scheduler cannot do is what the table says of it.
// SPDX-License-Identifier: Apache-2.0
#include <Halide.h>
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <fovea_bench_kernels.h>
#include <sys/wait.h>
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <fovea/fovea.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/samples.h"
#include "generators/pipelines/prefill.h"
#include "generators/schedules/prefill_cpu.h"
#include "generators/targets/target_table.h"

namespace {

using fovea::bench::Samples;
using Halide::Expr;
using Halide::Func;
using Halide::Pipeline;
using Halide::Var;

constexpr int features = 64;

struct Scheduler {
  const char *name, *plugin;
};
constexpr Scheduler schedulers[] = {{"Mullapudi2016", FOVEA_MULLAPUDI2016},
                                    {"Adams2019", FOVEA_ADAMS2019},
                                    {"Li2018", FOVEA_LI2018},
                                    {"Anderson2021", FOVEA_ANDERSON2021}};

struct Case {
  std::string variant;  // "full", "causal"
  int heads = 4, rows = 512;
  bool is_causal() const { return variant == "causal"; }
};

struct Tensors {
  explicit Tensors(const Case& c)
      : q(features, c.rows, c.heads),
        k(q.width(), c.rows, c.heads),
        v(q.width(), c.rows, c.heads),
        out(q.width(), c.rows, c.heads),
        expected(q.width(), c.rows, c.heads) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> number(-1, 1);
    for (Halide::Buffer<float>* b : {&q, &k, &v})
      b->for_each_value([&](float& x) { x = number(random); });
    out.fill(0.0F);
  }
  double distance() const {
    double largest = 0;
    out.for_each_element([&](int d, int i, int h) {
      const double x = std::abs(double{out(d, i, h)} - double{expected(d, i, h)});
      largest = std::isnan(x) ? HUGE_VAL : std::max(largest, x);
    });
    return largest;
  }
  Halide::Buffer<float> q, k, v, out, expected;
};

// The kernel that a library chooses, into `expected`.
class Default {
 public:
  Default(const Case& c, Tensors& t) : is_causal_(c.is_causal()) {
    const fovea::Shape shape = {1, c.heads, c.rows, features};
    call_ = fovea::Call(fovea::tensor(t.q.data(), shape), fovea::tensor(t.k.data(), shape),
                        fovea::tensor(t.v.data(), shape), fovea::tensor(t.expected.data(), shape));
    exec_.threads = 1;
    call_.exec = &exec_;
  }
  Default(const Default&) = delete;
  void run() {
    const fovea_status status = is_causal_ ? fovea_bench_kernels_causal(&call_, nullptr)
                                           : fovea_bench_kernels_full(&call_, nullptr);
    if (status != FOVEA_OK) throw std::runtime_error(fovea_last_message());
  }

 private:
  bool is_causal_;
  fovea::Call call_;
  fovea::Exec exec_;
};

Halide::Target target() {
  const Halide::Target host = Halide::get_host_target();
  const char* name = host.has_feature(Halide::Target::AVX512_Skylake) ? "x86-avx512"
                     : host.has_feature(Halide::Target::AVX2)         ? "x86-avx2"
                                                                      : "x86-sse41";
  return Halide::Target(fovea::find_target(name)->halide).with_feature(Halide::Target::JIT);
}

const fovea::TargetRow& target_row() {
  for (const fovea::TargetRow& row : fovea::target_table()) {
    if (Halide::Target(row.halide).with_feature(Halide::Target::JIT) == target()) return row;
  }
  throw std::logic_error("no target");
}

// What is scheduled, and a whole call of it once it is.
struct Algorithm {
  Pipeline pipeline;
  std::function<void()> run;
};

// Scores, maxima, weights and their sums of all keys, as a textbook has them.
Algorithm textbook(const Case& c, Tensors& t) {
  Var d("d"), i("i"), h("h"), j("j");
  Halide::ImageParam q(Halide::Float(32), 3, "q"), k(Halide::Float(32), 3, "k"),
      v(Halide::Float(32), 3, "v");
  Func score("score"), weight("weight"), most("most"), sum("sum"), weighted("weighted"), out("out");
  const Halide::RDom f(0, features, "f"), keys(0, c.rows, "keys");
  Func product("product");
  product(j, i, h) += q(f, i, h) * k(f, j, h);
  const Expr scaled = product(j, i, h) * (1 / std::sqrt(static_cast<float>(features)));
  score(j, i, h) = c.is_causal() ? Halide::select(j <= i, scaled, -1e30F) : scaled;
  most(i, h) = -1e30F;
  most(i, h) = Halide::max(most(i, h), score(keys, i, h));
  weight(j, i, h) = Halide::exp(score(j, i, h) - most(i, h));
  sum(i, h) += weight(keys, i, h);
  weighted(d, i, h) += weight(keys, i, h) * v(d, keys, h);
  out(d, i, h) = weighted(d, i, h) / sum(i, h);
  for (Halide::ImageParam* p : {&q, &k, &v})
    p->set_estimates({{0, features}, {0, c.rows}, {0, c.heads}});
  out.set_estimates({{0, features}, {0, c.rows}, {0, c.heads}});
  q.set(t.q), k.set(t.k), v.set(t.v);
  Pipeline pipeline(out);
  return {pipeline, [pipeline, &t]() mutable { pipeline.realize(t.out); }};
}

const fovea::Variant& find_variant(const std::vector<fovea::Variant>& all,
                                   const std::string& name) {
  for (const fovea::Variant& v : all) {
    if (v.name() == name) return v;
  }
  throw std::logic_error("variant " + name + " is not built in");
}

// What kernels are made from; block after block, head after head, as the runtime goes.
Algorithm prefill(const Case& c, Tensors& t) {
  static const std::vector<fovea::Variant> declared = fovea::declared_variants();
  const fovea::Variant& variant = find_variant(declared, c.variant);
  const fovea::PrefillCpuSchedule schedule = fovea::default_prefill_schedule(
      target_row(), variant, fovea::Element::F32, features, features);
  const fovea::AttentionTiling tiling =
      fovea::tiling(schedule, fovea::Element::F32, features, features);
  const int block = schedule.block_rows();
  fovea::PrefillPipeline made =
      fovea::make_prefill(variant, tiling, fovea::tile_status(variant, block, schedule.key_block));
  fovea::PrefillInputs in = made.inputs;
  in.q.set_estimates({{0, features}, {0, block}});
  for (Halide::ImageParam* p : {&in.k, &in.v}) p->set_estimates({{0, features}, {0, c.rows}});
  const auto set = [](auto& parameter, auto value) {
    parameter.set(value);
    parameter.set_estimate(value);
  };
  set(in.q_block, c.rows / block - 1);
  set(in.q_offset, 0);
  set(in.q_len, c.rows);
  set(in.kv_len, c.rows);
  set(in.batch, 0);
  set(in.head, 0);
  set(in.kv_head, 0);
  set(in.scale, 1 / std::sqrt(static_cast<float>(features)));
  made.out.set_estimates({{0, features}, {0, block}});
  made.lse.set_estimates({{0, block}});
  Pipeline pipeline(made.outputs());
  const Halide::Buffer<float> lse(block);
  return {pipeline, [pipeline, in, lse, block, c, &t]() mutable {
            for (int h = 0; h < c.heads; ++h) {
              in.k.set(Halide::Buffer<float>(t.k.sliced(2, h)));
              in.v.set(Halide::Buffer<float>(t.v.sliced(2, h)));
              for (int b = 0; b < c.rows / block; ++b) {
                in.q_block.set(b);
                Halide::Buffer<float> q = t.q.sliced(2, h).cropped(1, b * block, block),
                                      out = t.out.sliced(2, h).cropped(1, b * block, block);
                q.translate(1, -b * block);
                out.translate(1, -b * block);
                in.q.set(q);
                pipeline.realize({out, lse});
              }
            }
          }};
}

// Floating-point operations that a result needs.
double useful_flops(const Case& c) {
  const double n = c.rows, pairs = c.is_causal() ? n * (n + 1) / 2 : n * n;
  return 4.0 * features * pairs * c.heads;
}

// A row of the table, after its first cells.
std::string tried(const Case& c, const Scheduler& scheduler, bool from_kernels) {
  Tensors t(c);
  Default usual(c, t);
  usual.run();
  Algorithm algorithm = from_kernels ? prefill(c, t) : textbook(c, t);
  const double searched = fovea::bench::seconds_of([&] {
    algorithm.pipeline.apply_autoscheduler(target(), {scheduler.name, {{"parallelism", "1"}}});
  });
  const double compiled =
      fovea::bench::seconds_of([&] { algorithm.pipeline.compile_jit(target()); });
  algorithm.run();
  if (t.distance() > 1e-4) return fmt::format("– | – | – | wrong by {:.1e}", t.distance());
  Samples own, other, ratios;
  for (int i = 0; i < 15; ++i) {
    own.values.push_back(fovea::bench::seconds_of(algorithm.run));
    other.values.push_back(fovea::bench::seconds_of([&] { usual.run(); }));
    ratios.values.push_back(own.values.back() / other.values.back());
  }
  return fmt::format("{:.1f} | {:.3g} | {:.1f} | {:.2f} | ", searched + compiled,
                     own.median() * 1e3, useful_flops(c) / own.median() * 1e-9, ratios.median());
}

std::string refusal(std::string text) {
  for (char& x : text) x = x == '\n' || x == '|' ? ' ' : x;
  constexpr size_t most = 300;
  return "– | – | – | – | " + (text.size() > most ? text.substr(0, most) + " …" : text);
}

[[noreturn]] void say_and_end(int file, const std::string& said) {
  const bool written = write(file, said.data(), said.size()) == static_cast<ssize_t>(said.size());
  _exit(written ? 0 : 1);
}

// Plugins are compiled without a way for exceptions: what they throw ends the process unsaid.
class Reporter : public Halide::CompileTimeErrorReporter {
 public:
  explicit Reporter(int file) : file_(file) {}
  void warning(const char*) override {}
  [[noreturn]] void error(const char* text) override { say_and_end(file_, refusal(text)); }

 private:
  int file_;
};

// In a process of its own: schedulers may abort, or not end.
std::string apart(const Case& c, const Scheduler& scheduler, bool from_kernels, unsigned limit_s) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process");
  if (pid == 0) {
    alarm(limit_s);
    setenv("HL_NUM_THREADS", "1", 1);
    Reporter reporter(ends[1]);
    Halide::set_custom_compile_time_error_reporter(&reporter);
    try {
      Halide::load_plugin(scheduler.plugin);
      say_and_end(ends[1], tried(c, scheduler, from_kernels));
    } catch (const std::exception& error) {
      say_and_end(ends[1], refusal(error.what()));
    }
  }
  close(ends[1]);
  std::string said;
  char part[4096];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return fmt::format("– | – | – | – | no end within {} s", limit_s);
  if (WIFSIGNALED(status)) return fmt::format("– | – | – | – | signal {}", WTERMSIG(status));
  return said;
}

void run(const std::vector<std::string>& variants, int rows, unsigned limit_s) {
  fmt::print("{}, {}, 4 heads, {} rows and keys\n\n", fovea::bench::cpu_name(), target_row().name,
             rows);
  fmt::print(
      "| variant | algorithm | autoscheduler | search and compilation, s | a call, ms | GFLOP/s | "
      "times the default's time | |\n|---|---|---|---|---|---|---|---|\n");
  for (const std::string& variant : variants) {
    const Case c = {variant, 4, rows};
    for (const bool from_kernels : {false, true}) {
      for (const Scheduler& s : schedulers) {
        fmt::print("| {} | {} | {} | {} |\n", variant, from_kernels ? "prefill" : "textbook",
                   s.name, apart(c, s, from_kernels, limit_s));
        std::fflush(stdout);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Halide's autoschedulers beside the default schedule");
  std::vector<std::string> variants = {"full", "causal"};
  int rows = 512;
  unsigned limit_s = 60;
  app.add_option("--variant", variants, "full, causal")->check(CLI::IsMember({"full", "causal"}));
  app.add_option("--rows", rows, "query rows and keys, a multiple of 64")->capture_default_str();
  app.add_option("--limit", limit_s, "seconds for one autoscheduler")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    if (rows < 64 || rows % 64 != 0)
      throw std::invalid_argument(fmt::format("--rows is {}: allowed are multiples of 64", rows));
    run(variants, rows, limit_s);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fovea_autoscheduler_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
