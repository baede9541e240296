// prefill_table.cpp: rates of generated prefill kernels and their share of the measured FMA peak.
// SPDX-License-Identifier: Apache-2.0
#include "bench/prefill_table.h"

#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "bench/fma_peak.h"
#include "bench/problem.h"
#include "bench/samples.h"

namespace fovea::bench {
namespace {

struct Case {
  const Variant* variant;
  ProblemShape shape;
  std::string target;
  int threads;
  std::unique_ptr<Problem> problem;
  Error error;
  Samples seconds;
  Samples peak;  // a peak is what the machine can do: the best of its samples counts
};

std::string best_target() {
  for (const char* target : {"x86-avx512", "x86-avx2"}) {
    if (fma_peak_gflops(target, 1, 0.001) > 0) return target;
  }
  return "x86-sse41";
}

nlohmann::ordered_json row_of(const Case& c, const std::string& program) {
  const double median = c.seconds.median(), gflops = c.problem->useful_flops() / median * 1e-9;
  const ProblemShape& s = c.shape;
  const double bytes = 4.0 * static_cast<double>(s.b * s.d * (2 * s.hq * s.sq + 2 * s.hkv * s.skv));
  return {{"variant", c.variant->name()},
          {"pass", "prefill"},
          {"dtype", "f32"},
          {"shape", s.text()},
          {"target", c.target},
          {"threads", c.threads},
          {"median_s", median},
          {"min_s", c.seconds.minimum()},
          {"mad_s", c.seconds.mad()},
          {"n", c.seconds.values.size()},
          {"gflops", gflops},
          {"gbps", bytes / median * 1e-9},
          {"peak_gflops", c.peak.maximum()},
          {"fraction_of_peak", gflops / c.peak.maximum()},
          {"max_abs_error", c.error.max_abs},
          {"error_bound", c.error.bound},
          {"command", fmt::format("{} --variant {} --shape {} --target {} --threads {}", program,
                                  c.variant->name(), s.text(), c.target, c.threads)}};
}

// The rate of the plain kernel under the same conditions, 0 if it is not among the cases.
double plain_gflops(const std::vector<Case>& cases, const Case& like) {
  for (const Case& c : cases) {
    if (c.variant->name() == "full" && c.shape.text() == like.shape.text() &&
        c.target == like.target && c.threads == like.threads) {
      return c.problem->useful_flops() / c.seconds.median() * 1e-9;
    }
  }
  return 0;
}

void print_table(const std::vector<Case>& cases) {
  fmt::print(
      "CPU: {}\n\n| variant | shape | target | threads | ms | spread | GFLOP/s | of FMA peak | of "
      "full | max error (bound) |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      cpu_name());
  for (const Case& c : cases) {
    const double median = c.seconds.median(), gflops = c.problem->useful_flops() / median * 1e-9;
    const double plain = plain_gflops(cases, c);
    fmt::print(
        "| {} | {} | {} | {} | {:.3f} | {:.1f} % | {:.1f} | {:.1f} % | {} | {:.1e} ({:.1e}) |\n",
        c.variant->name(), c.shape.text(), c.target, c.threads, median * 1e3,
        100 * c.seconds.mad() / median, gflops, 100 * gflops / c.peak.maximum(),
        plain > 0 ? fmt::format("{:.2f}", gflops / plain) : "", c.error.max_abs, c.error.bound);
  }
}

}  // namespace

int run_prefill_table(PrefillTable a) {
  const std::vector<Variant> declared = declared_variants();
  if (a.targets.empty()) a.targets = {best_target()};
  if (a.variants == std::vector<std::string>{"all"}) {
    a.variants = {"full"};  // first, as a yardstick
    for (const Variant& v : declared) {
      if (v.name() != "full") a.variants.push_back(v.name());
    }
  }
  std::vector<Case> cases;
  for (const std::string& name : a.variants) {
    const auto variant = std::find_if(declared.begin(), declared.end(),
                                      [&](const Variant& v) { return v.name() == name; });
    if (variant == declared.end())
      throw std::invalid_argument(fmt::format("variant '{}' is not built in", name));
    for (const std::string& shape : a.shapes) {
      for (const std::string& target : a.targets) {
        for (const int threads : a.threads) {
          if (threads < 1)
            throw std::invalid_argument(
                fmt::format("--threads {}: allowed is 1 and more", threads));
          cases.push_back(
              {&*variant, ProblemShape::parse(shape, {}), target, threads, nullptr, {}, {}, {}});
        }
      }
    }
  }
  bool wrong = false;
  for (Case& c : cases) {
    c.problem =
        std::make_unique<Problem>(a.library, *c.variant, c.shape, c.target, c.threads, a.settings);
    c.error = c.problem->error();
    if (!c.error.ok()) {
      fmt::print(stderr, "{} {} on {}: error {:.2e} is above its bound {:.2e}\n", c.variant->name(),
                 c.shape.text(), c.target, c.error.max_abs, c.error.bound);
      wrong = true;
    }
  }
  if (wrong) return 1;
  for (int round = 0; round < a.rounds; ++round) {
    for (Case& c : cases) {
      c.peak.values.push_back(fma_peak_gflops(c.target, c.threads, 0.02));
      c.seconds.values.push_back(seconds_of([&] { c.problem->run(); }));
    }
  }
  if (a.json) {
    nlohmann::ordered_json root = {{"cpu", cpu_name()}, {"rows", nlohmann::ordered_json::array()}};
    for (const Case& c : cases) root["rows"].push_back(row_of(c, a.program));
    fmt::print("{}\n", root.dump(2));
  } else {
    print_table(cases);
  }
  return 0;
}

int prefill_table_main(PrefillTable a, int argc, char** argv) {
  CLI::App app{a.summary};
  std::vector<std::string> settings;
  app.add_option("--variant", a.variants, "names, or all")->capture_default_str();
  app.add_option("--shape", a.shapes, "b=1,hq=8,hkv=8,sq=2048,skv=2048,d=64")
      ->capture_default_str();
  app.add_option("--target", a.targets, "targets; default: the best this CPU runs");
  app.add_option("--threads", a.threads, "thread limits")->capture_default_str();
  app.add_option("--set", settings, "scalar parameters, as window=1024; default: their examples");
  app.add_option("--rounds", a.rounds, "samples of every row")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_flag("--json", a.json, "one JSON object");
  CLI11_PARSE(app, argc, argv);
  try {
    for (const std::string& s : settings) {
      const size_t equals = s.find('=');
      if (equals == std::string::npos)
        throw std::invalid_argument(fmt::format("--set {}: write name=value", s));
      a.settings[s.substr(0, equals)] = std::stod(s.substr(equals + 1));
    }
    return run_prefill_table(a);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", a.program, error.what());
    return 1;
  }
}

}  // namespace fovea::bench
