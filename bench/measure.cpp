// measure.cpp: all cases of a request, every contender of a case in turn.
// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fovea/fovea.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <stdexcept>
#include <thread>

#include "bench/caches.h"
#include "bench/default_target.h"
#include "bench/fma_peak.h"
#include "bench/kernel_contender.h"
#include "bench/plain_contender.h"
#include "generators/describe/call_shape.h"
#include "generators/describe/layout.h"
#include "generators/targets/target_table.h"

namespace fovea::bench {
namespace {

// Before each sample: threads of the contender before that still spin go to sleep meanwhile.
constexpr auto pause_between = std::chrono::milliseconds(15);
// A call that is longer than this warms up itself.
constexpr double longest_warm_up_s = 0.03;
constexpr double peak_sample_s = 0.02;
constexpr int most_calls = 1000000;
// However long a call is.
constexpr int fewest_samples = 3;
// A result with so many times the allowed error is that of another problem, or wrong.
constexpr double other_result = 100;

struct Entrant {
  Row row;
  std::unique_ptr<Contender> contender;
  bool warm_up = true;
  int samples = 0;  // to be taken, one in each of the first rounds
};

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

const Variant& find_variant(const std::vector<Variant>& declared, const std::string& name) {
  std::vector<std::string> names;
  for (const Variant& v : declared) {
    if (v.name() == name) return v;
    names.push_back(v.name());
  }
  throw std::invalid_argument(fmt::format("--variant '{}': allowed is all, or one of {}{}", name,
                                          fmt::join(names, ", "), suggestion(name, names)));
}

class Measurement {
 public:
  Measurement(const BenchRequest& request, const std::vector<Variant>& declared)
      : request_(request), declared_(declared), peers_(request.peer_options, memory_) {}

  Report run() {
    choose_variants();
    settings_ = parse_settings(request_.setting_words);
    for (const auto& [name, value] : settings_) {
      const bool known = std::any_of(variants_.begin(), variants_.end(), [&](const Variant* v) {
        return v->find_parameter(name) != nullptr;
      });
      if (!known)
        throw std::invalid_argument(fmt::format(
            "--set '{}={}': no chosen variant has a parameter '{}'", name, value, name));
    }
    for (const int t : request_.threads) {
      if (t < 1) throw std::invalid_argument(fmt::format("--threads {}: allowed is 1 and more", t));
    }
    find_peers();
    build();
    report_.date = utc_date();
    report_.cpu = cpu_name();
    report_.versions = {fmt::format("fovea {}.{}.{}", FOVEA_VERSION_MAJOR, FOVEA_VERSION_MINOR,
                                    FOVEA_VERSION_PATCH),
                        fmt::format("Halide {}.{}.{}", HALIDE_VERSION_MAJOR, HALIDE_VERSION_MINOR,
                                    HALIDE_VERSION_PATCH)};
    const size_t cases = variants_.size() * request_.dtypes.size() * request_.shapes.size() *
                         request_.threads.size();
    for (const Variant* v : variants_) {
      for (const std::string& dtype : request_.dtypes) {
        for (const ExampleShape& shape : request_.shapes) {
          const Problem problem(*v, dtype, shape, settings_, memory_);
          for (const int threads : request_.threads) {
            fmt::print(stderr, "[{}/{}] {} {} {}, {} thread{}\n", report_.cases.size() + 1, cases,
                       v->name(), dtype, call_shape_text(shape), threads, threads == 1 ? "" : "s");
            report_.cases.push_back(measure_case(problem, dtype, threads));
          }
        }
      }
    }
    return std::move(report_);
  }

 private:
  void choose_variants() {
    for (const std::string& name : request_.variants) {
      if (name == "all") {
        for (const Variant& v : declared_) variants_.push_back(&v);
      } else {
        variants_.push_back(&find_variant(declared_, name));
      }
    }
    if (variants_.empty()) throw std::invalid_argument("--variant: no variant is declared");
  }

  // Unknown names are errors, an environment that is not there is a line of the report.
  void find_peers() {
    const std::vector<std::string> known = known_peers(request_.peer_options);
    for (const std::string& name : request_.peers) {
      if (name == "none") continue;
      if (name != "all" && name != "plain" &&
          std::find(known.begin(), known.end(), name) == known.end())
        throw std::invalid_argument(fmt::format("--peers '{}': allowed is all, none, plain, {}{}",
                                                name, fmt::join(known, ", "),
                                                suggestion(name, known)));
      for (const std::string& peer : name == "all" ? known : std::vector<std::string>{name}) {
        const std::filesystem::path& python = request_.peer_options.python;
        // A bare name is looked for on PATH, later.
        if (peer == "plain" || !python.has_parent_path() || std::filesystem::exists(python)) {
          chosen_peers_.push_back(peer);
        } else {
          report_.missing.push_back(
              fmt::format("{}: not installed ({} is not there; scripts/peers.sh makes it)", peer,
                          python.string()));
        }
      }
    }
  }

  // Those of the chosen targets that are for the type.
  std::vector<std::string> targets_of(const std::string& dtype) const {
    if (request_.targets.empty()) return {default_target(parse_element_type(dtype), dtype)};
    std::vector<std::string> chosen, known;
    for (const TargetRow& row : target_table()) known.emplace_back(row.name);
    for (const std::string& name : request_.targets) {
      const TargetRow* row = find_target(name);
      if (!row)
        throw std::invalid_argument(fmt::format("--target '{}': allowed is {}{}", name,
                                                fmt::join(known, ", "), suggestion(name, known)));
      if (row->is_for(dtype)) chosen.push_back(name);
    }
    if (chosen.empty())
      throw std::invalid_argument(fmt::format("--target '{}': none of them has kernels of {}",
                                              fmt::join(request_.targets, ","), dtype));
    return chosen;
  }

  void build() {
    for (const Variant* v : variants_) {
      for (const std::string& dtype : request_.dtypes) {
        parse_element_type(dtype);
        for (const ExampleShape& s : request_.shapes) {
          for (const std::string& target : targets_of(dtype)) {
            for (const KvCacheChoice& cache : request_.caches) {
              for (const std::string& schedule : request_.schedules) {
                const KernelSpec spec = {
                    request_.pass,           v->name(), dtype,     static_cast<int>(s.d_qk),
                    static_cast<int>(s.d_v), target,    cache.kind};
                if (!find_kernel(spec, schedule)) kernels_.push_back({spec, schedule, "", {}, ""});
              }
            }
          }
        }
      }
    }
    build_kernels(kernels_, declared_, request_.build);
  }

  const BuiltKernel* find_kernel(const KernelSpec& spec, const std::string& overrides) const {
    for (const BuiltKernel& k : kernels_) {
      if (k.spec == spec && k.overrides == overrides) return &k;
    }
    return nullptr;
  }

  std::string command(const CaseResult& c, const std::string& more) const {
    std::string text = fmt::format("{} bench --variant {} --dtype {} --shape {} --threads {}",
                                   request_.program, c.variant, c.dtype, c.shape, c.threads);
    if (c.pass != "prefill") text += " --pass " + c.pass;
    if (!c.settings.empty()) text += " --set " + c.settings;
    if (c.cold) text += " --cold";
    return text + more;
  }

  // Only the settings that this variant has.
  std::string settings_text(const Variant& v) const {
    std::vector<std::string> words;
    for (const auto& [name, value] : settings_) {
      if (v.find_parameter(name)) words.push_back(name + "=" + value);
    }
    return fmt::format("{}", fmt::join(words, " "));
  }

  void add_kernel(std::vector<Entrant>& all, const Problem& problem, const CaseResult& c,
                  const KernelChoice& choice, const std::string& overrides) {
    const ExampleShape& s = problem.shape();
    const BuiltKernel& k = *find_kernel({c.pass, c.variant, c.dtype, static_cast<int>(s.d_qk),
                                         static_cast<int>(s.d_v), choice.target, choice.cache.kind},
                                        overrides);
    Entrant& e = all.emplace_back();
    e.row.engine = "fovea";
    e.row.version = report_.versions[0];
    e.row.target = choice.target;
    e.row.cache = choice.cache.text();
    e.row.schedule = k.schedule;
    e.row.overrides = overrides;
    std::string more = " --target " + choice.target;
    if (e.row.cache != "none") more += " --kv-cache " + e.row.cache;
    if (!overrides.empty()) more += " --schedule " + overrides;
    e.row.command = command(c, more + " --peers none");
    e.row.cannot = k.error;
    if (!k.error.empty()) return;
    attempt(e, [&] {
      e.contender = kernel_contender(k.library, choice, problem);
      e.row.bytes = e.contender->bytes();
    });
  }

  std::vector<Entrant> entrants(const Problem& problem, const CaseResult& c) {
    std::vector<Entrant> all;
    for (const std::string& target : targets_of(c.dtype)) {
      for (const KvCacheChoice& cache : request_.caches) {
        for (const std::string& overrides : request_.schedules)
          add_kernel(all, problem, c, {target, c.pass, c.threads, cache}, overrides);
      }
    }
    for (const std::string& peer : chosen_peers_) {
      Entrant& e = all.emplace_back();
      e.row.engine = peer;
      e.row.command = command(c, " --peers " + peer);
      attempt(e, [&] {
        if (peer == "plain") {
          e.contender = plain_contender(problem, c.threads);
          return;
        }
        PreparedPeer ready = peers_.prepare(peer, c.threads, c.dtype, problem);
        e.contender = std::move(ready.contender);
        e.row.version = ready.version;
        e.row.notes = ready.notes;
        e.row.prepare_s = ready.prepare_s;
      });
    }
    return all;
  }

  // A contender that fails is out of the race with its reason.
  template <typename F>
  static void attempt(Entrant& e, F&& f) {
    try {
      f();
    } catch (const Unavailable& reason) {
      e.row.cannot = reason.what();
      e.contender.reset();
    }
  }

  CaseResult measure_case(const Problem& problem, const std::string& dtype, int threads) {
    CaseResult c;
    c.variant = problem.variant().name();
    c.pass = request_.pass;
    c.dtype = dtype;
    c.shape = call_shape_text(problem.shape());
    c.settings = settings_text(problem.variant());
    c.threads = threads;
    c.cold = request_.cold;
    c.flops = problem.useful_flops();
    c.bytes = problem.bytes();
    std::vector<Entrant> all = entrants(problem, c);
    for (Entrant& e : all) {
      if (e.contender) attempt(e, [&] { check(e, problem); });
    }
    for (int round = 0; round < request_.rounds; ++round) {
      std::map<int, double> peaks;  // by width of a vector
      for (const Entrant& e : all) {
        double& peak = peaks[vector_bytes(e, dtype)];
        if (peak == 0) peak = fma_peak_gflops(vector_bytes(e, dtype), threads, peak_sample_s);
      }
      c.stream_gbps.values.push_back(
          c.is_decode() ? stream_gbps(threads, problem.k_bytes() + problem.v_bytes())
                        : stream_gbps(threads));
      // Another one begins in each round: none always follows the same neighbour.
      for (size_t i = 0; i < all.size(); ++i) {
        Entrant& e = all[(i + static_cast<size_t>(round)) % all.size()];
        if (!e.contender || round >= e.samples) continue;
        std::this_thread::sleep_for(pause_between);
        attempt(e, [&] {
          const double seconds = e.contender->run({e.row.calls, e.warm_up, c.cold});
          e.row.seconds.values.push_back(seconds / e.row.calls);
          e.row.peak_gflops.values.push_back(peaks.at(vector_bytes(e, dtype)));
        });
      }
    }
    for (Entrant& e : all) c.rows.push_back(std::move(e.row));
    return c;
  }

  // The result first, then how many calls make a sample.
  void check(Entrant& e, const Problem& problem) {
    std::memset(problem.call().out.data, 0xff, problem.out_bytes());
    const double first = e.contender->run({1, false, false});
    e.contender->write_output();
    e.row.error = problem.error();
    e.row.error.bound += e.contender->more_error();
    const bool wrong = e.row.is_fovea()
                           ? !e.row.error.ok()
                           : !(e.row.error.max_abs <= other_result * e.row.error.bound);
    if (wrong)
      throw Unavailable(fmt::format("wrong: its error is {:.2e}, allowed is {:.2e}",
                                    e.row.error.max_abs, e.row.error.bound));
    const double seconds = std::max(e.contender->run({1, first < longest_warm_up_s, false}), 1e-9);
    e.row.calls = static_cast<int>(
        std::clamp(std::ceil(request_.sample_s / seconds), 1.0, static_cast<double>(most_calls)));
    e.warm_up = !request_.cold && seconds < longest_warm_up_s;
    e.samples =
        static_cast<int>(std::clamp(request_.longest_s / (seconds * e.row.calls),
                                    static_cast<double>(std::min(fewest_samples, request_.rounds)),
                                    static_cast<double>(request_.rounds)));
  }

  static int vector_bytes(const Entrant& e, const std::string& dtype) {
    return find_target(e.row.is_fovea() ? e.row.target
                                        : default_target(parse_element_type(dtype), dtype))
        ->vector_bytes;
  }

  const BenchRequest& request_;
  const std::vector<Variant>& declared_;
  SharedMemory memory_;
  PeerPool peers_;
  std::vector<const Variant*> variants_;
  std::vector<std::string> chosen_peers_;
  Settings settings_;
  std::vector<BuiltKernel> kernels_;
  Report report_;
};

}  // namespace

Report measure(const BenchRequest& request, const std::vector<Variant>& declared) {
  return Measurement(request, declared).run();
}

}  // namespace fovea::bench
