// bench_command.cpp: `bench`: how fast kernels are, beside what else a user could take.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fovea/dsl/register.h>
#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/axes.h"
#include "bench/measure.h"
#include "generators/tool/commands.h"

namespace fovea {
namespace {

struct BenchArguments {
  bench::BenchRequest request;
  std::vector<std::string> shapes, threads, caches;
  std::string cxx, runtime, cache, python, workers;
  bool json = false, markdown = false;
};

// A kernel that is wrong or was not built fails the command, a peer that is missing does not.
bool every_kernel_measured(const bench::Report& report) {
  bool all = true;
  for (const bench::CaseResult& c : report.cases) {
    for (const bench::Row& row : c.rows) {
      if (!row.is_fovea() || row.cannot.empty()) continue;
      fmt::print(stderr, "fovea bench: {} {} on {}: {}\n", c.variant, c.shape, row.target,
                 row.cannot);
      all = false;
    }
  }
  return all;
}

void run_bench(BenchArguments& a) {
  bench::BenchRequest& r = a.request;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  r.program = self.filename().string();
  for (const std::string& text : a.shapes) {
    const std::vector<ExampleShape> shapes = bench::parse_shapes(text, r.pass);
    r.shapes.insert(r.shapes.end(), shapes.begin(), shapes.end());
  }
  if (a.shapes.empty()) r.shapes = bench::parse_shapes("", r.pass);
  const unsigned cpus = std::max(1u, std::thread::hardware_concurrency());
  for (const std::string& text : a.threads) {
    for (const int64_t x : bench::parse_axis(fmt::format("--threads '{}'", text), text))
      r.threads.push_back(static_cast<int>(x));
  }
  if (a.threads.empty()) r.threads = {static_cast<int>(cpus)};
  if (!a.caches.empty()) r.caches.clear();
  for (const std::string& text : a.caches) r.caches.push_back(bench::parse_kv_cache(text));
  if (r.schedules.empty()) r.schedules = {""};
  for (std::string& schedule : r.schedules) {
    if (schedule == "default") schedule.clear();
  }
  r.build = bench::default_build_options(a.cxx, a.runtime);
  r.build.cache = a.cache.empty() ? bench::default_cache() : std::filesystem::path(a.cache);
  r.build.jobs = static_cast<int>(cpus);
  const double timeout_s = r.peer_options.timeout_s;
  r.peer_options = bench::default_peer_options();
  r.peer_options.timeout_s = timeout_s;
  r.peer_options.logs = r.build.cache / "peer-logs";
  if (!a.python.empty()) r.peer_options.python = a.python;
  if (!a.workers.empty()) r.peer_options.workers = a.workers;

  const bench::Report report = bench::measure(r, declared_variants());
  if (a.json) {
    fmt::print("{}\n", bench::report_json(report).dump(
                           2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", a.markdown ? bench::report_markdown(report) : bench::report_text(report));
  }
  std::fflush(stdout);
  if (!every_kernel_measured(report))
    throw std::runtime_error("not every kernel could be measured; the reasons are above");
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto a = std::make_shared<BenchArguments>();
  bench::BenchRequest& r = a->request;
  r.variants = {"full", "causal"};
  r.dtypes = {"f32"};
  r.peers = {"all"};

  CLI::App* bench = app.add_subcommand(
      "bench", "measure kernels, beside other implementations of the same attention");
  bench->footer(
      "example: fovea bench --variant causal --shape 'sq=512|2048|8192,d=64|128' --threads 1,2\n"
      "         fovea bench --variant causal_window --set window=256 --peers flex\n"
      "         fovea bench --pass decode --variant causal --shape 'hq=32,hkv=8,skv=4096|65536'\n"
      "         fovea bench --pass decode --kv-cache none,same:16,int8 --peers none\n"
      "         fovea bench --schedule default row_vectors=3,key_tile=8 --peers none");
  bench->add_option("--variant", r.variants, "names, or all")
      ->delimiter(',')
      ->capture_default_str();
  bench->add_option("--pass", r.pass, "prefill or decode")
      ->capture_default_str()
      ->check(CLI::IsMember({"prefill", "decode"}));
  bench->add_option("--dtype", r.dtypes, "element types: f32, f16, bf16")
      ->delimiter(',')
      ->capture_default_str();
  bench->add_option(
      "--shape", a->shapes,
      "b, hq, hkv, sq, skv, d; each a number, a list 64|128 or a range 1..16, "
      "64..512+64, 512..8192*2; default: b=1,hq=8,hkv=hq,d=64, for prefill sq=2048,skv=sq, "
      "for decode sq=1,skv=4096");
  bench->add_option("--target", r.targets, "targets; default: the one the dispatcher would choose")
      ->delimiter(',');
  bench->add_option("--threads", a->threads, "thread limits, 1,2 or 1..4; default: all CPUs")
      ->delimiter(',');
  bench
      ->add_option("--kv-cache", a->caches,
                   "what kernels read keys and values from, to compare: none (rows as they are), "
                   "same, int8, int4, e4m3, e5m2, with a page size same:16; default: none")
      ->delimiter(',');
  bench->add_option("--set", r.setting_words,
                    "a parameter instead of its example: NAME=NUMBER, of a table NAME=parts:COUNT");
  bench->add_option("--schedule", r.schedules,
                    "schedules to compare, each as row_vectors=3,key_tile=8, or default");
  bench
      ->add_option("--peers", r.peers,
                   "all, none, or some of flex, ggml, onnxruntime, sdpa, plain (a loop)")
      ->delimiter(',')
      ->capture_default_str();
  bench->add_flag("--cold", r.cold, "flush the caches before every timed call");
  bench->add_option("--rounds", r.rounds, "samples of every contender")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  bench->add_option("--min-time", r.sample_s, "seconds that a sample lasts at least")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 60.0));
  bench
      ->add_option("--max-time", r.longest_s,
                   "seconds of all samples of a contender; three are taken in any case")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0));
  bench->add_flag("--json", a->json, "one JSON object");
  bench->add_flag("--markdown", a->markdown, "a table for a page")->excludes("--json");
  bench->add_option("--cache", a->cache,
                    "folder for generated kernels; default: fovea in the user's cache folder");
  bench->add_option("--cxx", a->cxx, "C++ compiler; default: the one that fovea was built with");
  bench->add_option("--runtime", a->runtime,
                    "the source tree's runtime folder or the prefix of an installation; default: "
                    "that of this program");
  bench->add_option("--peer-python", a->python,
                    "interpreter for peers; default: the one of scripts/peers.sh");
  bench->add_option("--peer-workers", a->workers, "folder with NAME_worker.py for each peer");
  bench->add_option("--peer-timeout", r.peer_options.timeout_s, "seconds to wait for a peer")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  bench->callback([a] { run_bench(*a); });
}

}  // namespace fovea
