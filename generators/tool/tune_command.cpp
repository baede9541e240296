// tune_command.cpp: `tune`: the fastest schedules of kernels, found by trying.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/dsl/register.h>
#include <signal.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/axes.h"
#include "bench/default_target.h"
#include "generators/database/database_views.h"
#include "generators/describe/call_shape.h"
#include "generators/emit/library_spec.h"
#include "generators/tool/commands.h"
#include "generators/tool/declared_variant.h"
#include "generators/tuner/compare_tuned.h"
#include "generators/tuner/kernel_trials.h"
#include "generators/tuner/static_trials.h"
#include "generators/tuner/time_again.h"
#include "generators/tuner/tuner.h"
#include "generators/tuner/workloads.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

struct TuneArguments {
  std::vector<std::string> variants, dtypes = {"f32"}, targets, head_dims = {"64"}, shapes,
                                     settings;
  std::string pass = "prefill", cache_kind = "none", workload = "any", strategy = "halving";
  std::string out = "tuned.jsonl", again, budget, cxx, runtime, cache;
  std::vector<std::string> compare;
  size_t candidates = 0, memory_mb = 2048;
  SearchOptions search;
  double compile_timeout_s = 120, call_timeout_s = 10;
  int threads = 1, jobs = 0;
  std::string cost = "time";
  bool space = false, json = false;
};

volatile sig_atomic_t interrupted = 0;

// The first interruption lets the candidate at hand end; a second one ends everything. Nothing is
// lost in either case: lines are written as candidates end.
void interrupt(int) {
  interrupted = 1;
  signal(SIGINT, SIG_DFL);
}

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::string duration(double seconds) {
  const auto s = static_cast<int64_t>(std::llround(seconds));
  return s < 60     ? fmt::format("{} s", s)
         : s < 3600 ? fmt::format("{}:{:02} min", s / 60, s % 60)
                    : fmt::format("{}:{:02} h", s / 3600, s / 60 % 60);
}

// One line that is written over on a terminal, a line each elsewhere.
class Progress {
 public:
  explicit Progress(std::string usual) : usual_(std::move(usual)) {}

  void show(const TuneState& state, const TuningRecord& r) {
    std::string invalid;
    for (const auto& [status, count] : state.invalid)
      invalid += fmt::format(", {} {}", count, status_name(status));
    const std::string now =
        r.speedup > 0 ? fmt::format("{:.3f} x", r.speedup) : status_name(r.status);
    const std::string line = fmt::format(
        "[{}/{}] {} {}; best {:.3f} x ({}){}{}", state.done, state.done + state.expected, now,
        r.effort == Effort::Final ? "in the final" : schedule_difference(r.schedule, usual_),
        state.best, schedule_difference(state.best_schedule, usual_), invalid,
        state.left_s ? fmt::format("; {} left", duration(*state.left_s)) : "");
    if (terminal_) {
      fmt::print(stderr, "\r\033[K{}", line);
      std::fflush(stderr);
    } else {
      fmt::print(stderr, "{}\n", line);
    }
  }
  ~Progress() {
    if (terminal_) fmt::print(stderr, "\n");
  }

 private:
  std::string usual_;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
};

std::vector<KernelSpec> asked_kernels(const TuneArguments& a,
                                      const std::vector<Variant>& declared) {
  LibraryRequest request;
  request.name = "tune";
  request.variants = a.variants;
  request.head_dims = a.head_dims;
  request.passes = {a.pass};
  request.caches = {a.cache_kind};
  std::vector<KernelSpec> specs;
  for (const std::string& dtype : a.dtypes) {
    request.dtypes = {dtype};
    request.targets = a.targets;
    if (a.targets.empty())
      request.targets = {bench::default_target(bench::parse_element_type(dtype), dtype)};
    for (const PlannedKernel& k : plan_library(request, declared).kernels) specs.push_back(k.spec);
  }
  return specs;
}

// Settings that no chosen variant has are mistakes, not settings of others.
void refuse_unknown_settings(const TuneArguments& a, const std::vector<KernelSpec>& specs,
                             const std::vector<Variant>& declared) {
  for (const auto& [name, value] : bench::parse_settings(a.settings)) {
    const bool known = std::any_of(specs.begin(), specs.end(), [&](const KernelSpec& spec) {
      return declared_variant(declared, spec.variant).find_parameter(name) != nullptr;
    });
    if (!known)
      throw std::invalid_argument(
          fmt::format("--set '{}={}': no chosen variant has a parameter '{}'", name, value, name));
  }
}

void print_space(const KernelSpec& spec, const ScheduleSpace& space) {
  fmt::print("{}: {} schedules\n", kernel_name(spec), space.size());
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    std::vector<int> values;
    for (const SpacePoint& p : space.points()) {
      if (std::find(values.begin(), values.end(), p[i]) == values.end()) values.push_back(p[i]);
    }
    std::sort(values.begin(), values.end());
    fmt::print("  {:<15} {} (default {}): {}\n", space.parameters()[i].name, fmt::join(values, " "),
               space.usual()[i], space.parameters()[i].reason);
  }
}

std::vector<ExampleShape> shapes_of(const TuneArguments& a, const KernelSpec& spec) {
  if (a.shapes.empty()) return workload_shapes(a.workload, a.pass, spec.d_qk, spec.d_v);
  std::vector<ExampleShape> shapes;
  for (const std::string& text : a.shapes) {
    for (ExampleShape s : bench::parse_shapes(text, a.pass)) {
      s.d_qk = spec.d_qk, s.d_v = spec.d_v;
      shapes.push_back(s);
    }
  }
  return shapes;
}

TrialOptions trial_options(const TuneArguments& a) {
  TrialOptions options;
  options.build = bench::default_build_options(a.cxx, a.runtime);
  options.build.cache = (a.cache.empty() ? bench::default_cache() : fs::path(a.cache)) / "tune";
  options.build.jobs =
      a.jobs > 0 ? a.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.build.quiet = true;
  options.build.limits = {a.compile_timeout_s, size_t{8} << 30};
  options.limits = {a.call_timeout_s, a.memory_mb << 20};
  return options;
}

TuneResult tune_kernel(const TuneArguments& a, const KernelSpec& spec,
                       const std::vector<Variant>& declared, const TuningEnvironment& environment) {
  const Variant& variant = declared_variant(declared, spec.variant);
  const bool is_static = a.cost == "static";
  const ScheduleSpace all = schedule_space(spec, variant);
  const ScheduleSpace space = is_static ? inner_loop_space(all) : all;
  const std::vector<ExampleShape> shapes = shapes_of(a, spec);

  TuneRequest request;
  TuningRecord& base = request.base;
  base.kernel = kernel_name(spec);
  base.variant_hash = hash_text(variant.hash());
  base.target = find_target(spec.target)->halide;
  base.workload = {a.shapes.empty() ? a.workload : "given",
                   {},
                   fmt::format("{}", fmt::join(a.settings, " ")),
                   a.threads};
  for (const ExampleShape& s : shapes) base.workload.shapes.push_back(call_shape_text(s));
  base.environment = environment;
  base.date = utc_date();
  request.file = a.out;
  request.strategy = a.strategy;
  request.search = a.search;
  request.budget.candidates = a.candidates;
  if (!a.budget.empty()) request.budget.seconds = parse_duration(a.budget);
  request.interrupted = [] { return interrupted != 0; };

  TrialOptions options = trial_options(a);
  std::unique_ptr<TrialRunner> trials;
  if (is_static) {
    const std::vector<std::string>& cpus = modelled_cpus(find_target(spec.target)->architecture);
    base.judged_by = fmt::format("llvm-mca: {}", fmt::join(cpus, ", "));
    // Of no shape, and of no CPU that is here.
    base.workload = {"any", {}, "", 1};
    base.environment.cpu = base.environment.cpu_model = base.environment.features = "";
    trials = std::make_unique<StaticTrials>(
        spec,
        StaticTrials::Options{fs::read_symlink("/proc/self/exe"), options.build.cache / "static",
                              cpus, options.build.limits, options.build.jobs});
  } else {
    options.choice = {spec.target, spec.pass, a.threads, {spec.cache, 0}};
    trials = std::make_unique<KernelTrials>(spec, declared, shapes,
                                            bench::parse_settings(a.settings), options);
  }

  fmt::print(stderr, "{}: {} schedules, {}\n", base.kernel, space.size(),
             is_static ? base.judged_by : fmt::format("{}", fmt::join(base.workload.shapes, "; ")));
  Progress progress(text_of(space.schedule(space.usual())));
  request.tried = [&](const TuneState& state, const TuningRecord& r) { progress.show(state, r); };
  return tune(space, *trials, request);
}

void run_again(const TuneArguments& a, const std::vector<Variant>& declared) {
  const TuningFile file = read_tuning_file(a.again);
  for (const std::string& problem : file.problems) fmt::print(stderr, "{}\n", problem);
  std::vector<TuningRecord> records;
  for (const StoredRecord& stored : file.records) records.push_back(stored.record);
  std::vector<EntryAgain> all;
  for (const TuningRecord& entry : winners(records)) {
    fmt::print(stderr, "{}\n", entry.kernel);
    all.push_back(time_again(entry, declared, trial_options(a)));
  }
  fmt::print("{}", again_markdown(all));
}

void run_compare(const TuneArguments& a, const std::vector<Variant>& declared) {
  std::vector<std::string> problems;
  const std::vector<ComparedShape> rows =
      compare_tuned({a.compare.begin(), a.compare.end()}, declared, trial_options(a), problems,
                    [](const std::string& kernel) { fmt::print(stderr, "{}\n", kernel); });
  for (const std::string& problem : problems) fmt::print(stderr, "{}\n", problem);
  fmt::print("{}", compared_markdown(rows));
}

void run_tune(const TuneArguments& a) {
  const std::vector<Variant> declared = declared_variants();
  if (!a.compare.empty()) return run_compare(a, declared);
  if (!a.again.empty()) return run_again(a, declared);
  const std::vector<KernelSpec> specs = asked_kernels(a, declared);
  if (a.space) {
    for (const KernelSpec& spec : specs)
      print_space(spec, schedule_space(spec, declared_variant(declared, spec.variant)));
    return;
  }
  refuse_unknown_settings(a, specs, declared);
  if (!a.budget.empty()) parse_duration(a.budget);  // before anything is compiled
  const TuningEnvironment environment = this_environment();
  nlohmann::ordered_json winners = nlohmann::ordered_json::array();
  signal(SIGINT, interrupt);
  for (const KernelSpec& spec : specs) {
    const TuneResult result = tune_kernel(a, spec, declared, environment);
    if (result.interrupted) {
      fmt::print(stderr,
                 "interrupted after {} candidates, which are in {}; the same command goes on from "
                 "there\n",
                 result.state.done, a.out);
      std::fflush(nullptr);
      signal(SIGINT, SIG_DFL);
      raise(SIGINT);
    }
    const TuningRecord& w = *result.winner;
    if (a.json) {
      winners.push_back(record_json(w));
    } else {
      fmt::print("{}: {:.3f} x the default: {} ({} candidates, {} of earlier runs, {})\n", w.kernel,
                 w.speedup, schedule_difference(w.schedule, w.incumbent), result.state.done,
                 result.state.resumed, duration(result.state.seconds));
      std::fflush(stdout);
    }
  }
  if (a.json)
    fmt::print("{}\n",
               winners.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void add_what_is_tuned(CLI::App& tune, TuneArguments& a) {
  tune.add_option("--variant", a.variants, "names of variants; default: all declared ones")
      ->delimiter(',');
  tune.add_option("--pass", a.pass, "prefill or decode")
      ->capture_default_str()
      ->check(CLI::IsMember({"prefill", "decode"}));
  tune.add_option("--dtype", a.dtypes, "element types: f32, f16, bf16")
      ->delimiter(',')
      ->capture_default_str();
  tune.add_option("--head-dim", a.head_dims, "head dimensions, D or D_QK/D_V")
      ->delimiter(',')
      ->capture_default_str();
  tune.add_option("--target", a.targets, "targets; default: the one the dispatcher would choose")
      ->delimiter(',');
  tune.add_option("--kv-cache", a.cache_kind,
                  "what kernels read keys and values from: none, same, int8, int4, e4m3, e5m2")
      ->capture_default_str();
  tune.add_option("--class", a.workload,
                  "calls to be fast for: short, long, or any (both); the geometric mean counts")
      ->capture_default_str()
      ->check(CLI::IsMember(workload_names()));
  tune.add_option("--shape", a.shapes, "these calls instead, as in fovea bench, without d");
  tune.add_option("--set", a.settings, "a parameter instead of its example, NAME=VALUE");
  tune.add_option("--threads", a.threads, "threads of a call")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
}

}  // namespace

void add_tune_command(CLI::App& app) {
  auto a = std::make_shared<TuneArguments>();
  CLI::App* tune =
      app.add_subcommand("tune", "find the fastest schedules of kernels on this machine");
  tune->footer(
      "example: fovea tune --variant causal --budget 10m --out mine.jsonl\n"
      "         fovea tune --variant causal --pass decode --dtype bf16 --candidates 60\n"
      "         fovea tune --variant causal --space\n"
      "Builds read the file: fovea_add_library(… TUNED mine.jsonl), fovea emit --tuned "
      "mine.jsonl.");
  add_what_is_tuned(*tune, *a);
  tune->add_option("--out", a->out,
                   "file that every candidate becomes a line of, and an interrupted search goes on "
                   "from")
      ->capture_default_str();
  tune->add_option("--strategy", a->strategy,
                   "halving (random starts and the default, the best third compared, then one "
                   "parameter at a time), random or exhaustive")
      ->capture_default_str()
      ->check(CLI::IsMember(strategy_names()));
  tune->add_option("--cost", a->cost,
                   "time, or for targets that do not run here static: cycles of the inner loops on "
                   "models of CPUs (llvm-mca)")
      ->capture_default_str()
      ->check(CLI::IsMember({"time", "static"}));
  tune->add_option("--budget", a->budget, "time for each kernel in this run: 90s, 20m, 1.5h");
  tune->add_option("--candidates", a->candidates,
                   "candidates for each kernel, those of earlier runs included");
  tune->add_option("--starts", a->search.starts, "random starts of halving")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000));
  tune->add_option("--seed", a->search.seed, "of random starts and orders")->capture_default_str();
  tune->add_option("--compile-timeout", a->compile_timeout_s, "seconds for compiling a candidate")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  tune->add_option("--call-timeout", a->call_timeout_s,
                   "seconds for a call, beyond twice the incumbent's")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  tune->add_option("--memory", a->memory_mb, "MB that a candidate may take")->capture_default_str();
  tune->add_option(
          "--jobs", a->jobs,
          "candidates compiled at once; nothing is compiled while one is timed; 0: one per "
          "CPU")
      ->capture_default_str();
  tune->add_option(
      "--again", a->again,
      "search nothing: time the entries of this file beside the defaults once more, and "
      "print a table (Markdown)");
  tune->add_option(
      "--compare", a->compare,
      "search nothing: time what a build with these files would hold beside the defaults, in every "
      "class of shapes, and print a table (Markdown)");
  tune->add_flag("--space", a->space, "only print the parameters, their ranges and why they end");
  tune->add_flag("--json", a->json, "print the winners as one JSON array");
  tune->add_option("--cache", a->cache,
                   "folder for generated kernels; default: fovea in the user's cache folder");
  tune->add_option("--cxx", a->cxx, "C++ compiler; default: the one that fovea was built with");
  tune->add_option("--runtime", a->runtime,
                   "the source tree's runtime folder or the prefix of an installation");
  tune->callback([a] { run_tune(*a); });
}

}  // namespace fovea
